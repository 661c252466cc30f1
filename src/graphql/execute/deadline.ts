import { FhirError } from '../../fhir/error.js';
import { inDoubt, isInDoubt } from '../../fhir/in-doubt.js';
import type { CallOptions } from '../../store/store.js';
import { LimitError } from '../limits.js';
import { type Clock, SYSTEM_CLOCK } from './clock.js';

/** How long a write may take to tell how it ended once the request is over, in milliseconds. */
const WRITE_GRACE_MS = 1000;

/**
 * The end of a request that takes too long or is aborted by the host: felt even while a store does not answer.
 *
 * Close it when the request is over, whatever its outcome.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #expired: Promise<never>;
  readonly #abort = (): void => this.#end(aborted(this.host));
  readonly #stopTimer: () => void;
  readonly #started: number;
  #reject!: (reason: FhirError) => void;

  /**
   * @param timeout in milliseconds
   * @param host the signal of whoever made the request
   */
  constructor(
    private readonly timeout: number,
    private readonly host: AbortSignal | undefined,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#started = clock.now();
    this.#expired = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    // Whoever waits sees it; when nobody does, it is no unhandled rejection.
    this.#expired.catch(() => undefined);
    this.#stopTimer = clock.after(timeout, () => this.#end(this.#tooLong()));
    host?.addEventListener('abort', this.#abort);
  }

  /** For the store, so that it can stop too. A clock of its own has no time that a store could tell. */
  get options(): CallOptions {
    const deadline = this.clock === SYSTEM_CLOCK ? this.#started + this.timeout : undefined;
    return { signal: this.#controller.signal, deadline };
  }

  /**
   * Waits for the work, or for the end of the request, whichever comes first.
   *
   * @throws LimitError `timeout`
   * @throws FhirError `aborted`
   */
  async wait<Result>(work: Promise<Result>): Promise<Result> {
    const result = await Promise.race([work, this.#expired]);
    this.check();
    return result;
  }

  /**
   * Waits for a write, which is told to stop when the request ends and then has a moment to say whether it took place. One
   * that did is no failure.
   *
   * @param hasBegun whether the store was asked to write yet; once the request is over it is not asked any more
   * @throws as {@link wait}, and with `details.unknown` where nobody can tell
   */
  async finish<Result>(work: Promise<Result>, hasBegun: () => boolean): Promise<Result> {
    try {
      return await Promise.race([work, this.#expired]);
    } catch (error) {
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
      const doubtful = ended === 'late' ? hasBegun() : isInDoubt(ended.failure);
      const fault = this.faultOf(error);
      throw doubtful && fault instanceof FhirError ? inDoubt(fault) : fault;
    }
  }

  /**
   * For work that leaves timers no turn.
   *
   * @throws as {@link wait}
   */
  check(): void {
    if (this.host?.aborted === true) throw aborted(this.host);
    if (this.clock.now() - this.#started > this.timeout) throw this.#tooLong();
  }

  /** What the failure of a store call is to the request: a store that stopped at the deadline says so in its own words. */
  faultOf(error: unknown): unknown {
    return error instanceof FhirError && error.detailsOf('aborted')?.deadline === true ? this.#tooLong() : error;
  }

  close(): void {
    this.#stopTimer();
    this.host?.removeEventListener('abort', this.#abort);
  }

  #end(reason: FhirError): void {
    this.#reject(reason);
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
