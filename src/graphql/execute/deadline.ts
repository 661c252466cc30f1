import { FhirError, inDoubt, isInDoubt } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import type { TextBudget } from '../../store/text-budget.js';
import { LimitError } from '../limits.js';
import { LOOP_TURN, type Pace } from '../../platform/pace.js';
import { MAX_DELAY_MS } from '../../platform/runtime.js';

/** How long a write may take to report its outcome after the request has ended. */
const WRITE_GRACE_MS = 1000;

/**
 * Ends a request that takes too long or is aborted by the host, even while a store does not answer.
 *
 * Close it when the request is over, regardless of its outcome.
 */
export class Deadline {
  readonly #controller = new AbortController();
  /** The rejecters of pending waits. */
  readonly #waiting = new Set<(reason: FhirError) => void>();
  #ended: FhirError | undefined;
  readonly #abort = (): void => this.#end(aborted(this.host));
  #stopTimer: (() => void) | undefined;
  readonly #started: number;
  readonly #loans = new Set<AbortController>();
  readonly pace: RequestPace;

  /**
   * @param timeout in milliseconds
   * @param host the host's signal
   * @param waited how much of the time has already passed, in milliseconds
   * @param budget what the request may read
   */
  constructor(
    private readonly timeout: number,
    private readonly host: AbortSignal | undefined,
    private readonly clock: Clock = SYSTEM_CLOCK,
    waited = 0,
    private readonly budget?: TextBudget,
  ) {
    this.#started = clock.now() - waited;
    this.pace = new RequestPace(clock, () => this.check());
    host?.addEventListener('abort', this.#abort);
  }

  /** Passed to the store, so that it can stop too. A custom clock has no deadline meaningful to the store. */
  get options(): CallOptions {
    const deadline = this.clock === SYSTEM_CLOCK ? this.#started + this.timeout : undefined;
    return { signal: this.#controller.signal, deadline, budget: this.budget };
  }

  /**
   * Waits for the work or for the end of the request.
   *
   * @throws LimitError `timeout`
   * @throws FhirError `aborted`
   */
  wait<Result>(work: Promise<Result>): Promise<Result> {
    return this.#inTime(work, () => this.check());
  }

  /** PERF (one-patient): a timer takes a microsecond, so it starts only when the request waits. */
  #startTimer(): void {
    this.#stopTimer ??= this.clock.after(Math.max(0, this.#left), () => this.#end(this.#tooLong()));
  }

  /** In milliseconds. */
  get #left(): number {
    return this.timeout - (this.clock.now() - this.#started);
  }

  /**
   * PERF (one-patient): a race of promises takes five times as long.
   *
   * @param check if it throws, the promise rejects with that error
   */
  #inTime<Result>(work: Promise<Result>, check?: () => void): Promise<Result> {
    this.#startTimer();
    return new Promise((resolve, reject) => {
      if (this.#ended === undefined) this.#waiting.add(reject);
      else reject(this.#ended);
      work.then(
        (result) => {
          this.#waiting.delete(reject);
          try {
            check?.();
            resolve(result);
          } catch (error) {
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it passes on what the check threw
            reject(error);
          }
        },
        (error: unknown) => {
          this.#waiting.delete(reject);
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it passes on what the work threw
          reject(error);
        },
      );
    });
  }

  /**
   * Waits for a write. When the request ends, a write that has begun receives the abort signal and has {@link
   * WRITE_GRACE_MS} to report its outcome. A committed write is not a failure.
   *
   * @param hasBegun whether the store has begun to write; after the end of the request no write begins
   * @throws as {@link wait}, and with `details.unknown` if the outcome is unknown
   */
  async finish<Result>(work: Promise<Result>, hasBegun: () => boolean): Promise<Result> {
    try {
      return await this.#inTime(work);
    } catch (error) {
      // No write begins after the end of the request.
      if (!hasBegun()) throw this.faultOf(error);
      const { promise: late, resolve } = Promise.withResolvers<'late'>();
      const stopTimer = this.clock.after(WRITE_GRACE_MS, () => resolve('late'));
      const ended = await Promise.race([
        late,
        work.then(
          (result) => ({ result }),
          (failure: unknown) => ({ failure }),
        ),
      ]);
      stopTimer();
      if (ended !== 'late' && 'result' in ended) return ended.result;
      const doubtful = ended === 'late' || isInDoubt(ended.failure);
      const fault = this.faultOf(error);
      throw doubtful && fault instanceof FhirError ? inDoubt(fault) : fault;
    }
  }

  /**
   * For code that runs too long for timers to fire.
   * @throws as {@link wait}
   */
  check(): void {
    if (this.host?.aborted === true) throw aborted(this.host);
    if (this.#left < 0) throw this.#tooLong();
  }

  /**
   * Runs work of the host with a time limit: at most `timeout`, and nine tenths of the remaining time, so that there is
   * time for the rest of the answer.
   *
   * @param timeout in milliseconds
   * @throws FhirError `unavailable` - the work took longer; its signal has fired
   * @throws as {@link wait}
   */
  async lend<Result>(timeout: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.check();
    const share = Math.min(timeout, this.#left * 0.9);
    const loan = new AbortController();
    this.#loans.add(loan);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const stopTimer = this.clock.after(share, () => {
      const reason = new FhirError('unavailable', `The field took longer than ${Math.ceil(share)} ms`, {
        details: { late: true },
      });
      reject(reason);
      loan.abort(reason);
    });
    try {
      const lent = work(AbortSignal.any([this.#controller.signal, loan.signal]));
      return await this.#inTime(Promise.race([lent, late]));
    } finally {
      stopTimer();
      this.#loans.delete(loan);
    }
  }

  /** Maps the failure of a store call to that of the request: a store reports an expired deadline in its own words. */
  faultOf(error: unknown): unknown {
    return error instanceof FhirError && error.detailsOf('aborted')?.deadline === true ? this.#tooLong() : error;
  }

  close(): void {
    this.#stopTimer?.();
    this.host?.removeEventListener('abort', this.#abort);
    for (const loan of this.#loans) loan.abort(new FhirError('aborted', 'The request has ended'));
  }

  #end(reason: FhirError): void {
    this.#ended ??= reason;
    for (const reject of this.#waiting) reject(reason);
    this.#waiting.clear();
    this.#controller.abort(reason);
  }

  #tooLong(): LimitError {
    return new LimitError(
      'timeout',
      this.timeout,
      `The query ran longer than ${this.timeout} ms: narrow its searches (by patient, code or date) and page with _count`,
    );
  }
}

function aborted(signal: AbortSignal | undefined): FhirError {
  return new FhirError('aborted', 'The request was aborted', { cause: signal?.reason });
}

/** Measures how long a request runs, and ends it in time. Tests use their own. */
export interface Clock {
  /** Milliseconds from any start; never goes back. */
  now(): number;
  /** Whether all requests of the process together have used the event loop long enough. */
  readonly isTurnSpent: boolean;
  /**
   * Calls once after this many milliseconds.
   *
   * @returns a function that cancels the call
   */
  after(milliseconds: number, call: () => void): () => void;
}

const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  get isTurnSpent() {
    return LOOP_TURN.isSpent;
  },
  after(milliseconds, call) {
    const timer = setTimeout(call, Math.min(milliseconds, MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
};

/** How long a request works before another one that waits continues, in milliseconds. */
const YIELD_AFTER_MS = 5;

/** A request that has worked for so long since it last waited does not wait behind those that have not, in milliseconds. */
const BEGUN_AFTER_MS = 0.5;

/**
 * Lets other work run if a request has kept the event loop for long. Over a synchronous store, no other work runs
 * otherwise, because its answers never wait.
 */
export class RequestPace implements Pick<Pace, 'isSpent' | 'next'> {
  #yielded: number;

  /** @param check throws if the request has ended while it waited */
  constructor(
    private readonly clock: Clock,
    private readonly check: () => void,
  ) {
    this.#yielded = clock.now();
  }

  get isSpent(): boolean {
    return this.clock.now() - this.#yielded >= YIELD_AFTER_MS || this.clock.isTurnSpent;
  }

  /** @throws as `Deadline.check` */
  async next(): Promise<void> {
    const hasBegun = this.clock.now() - this.#yielded >= BEGUN_AFTER_MS;
    await (hasBegun ? LOOP_TURN.nextOfBegun() : LOOP_TURN.next());
    this.#yielded = this.clock.now();
    this.check();
  }
}
