import { type FhirError, isInDoubt } from '../../../fhir/error.js';
import { callAborted } from '../../../store/guards.js';

/** Calls of one kind, and how several of them run as one. */
interface GroupedCalls<Call, Result> {
  /** Runs one call. The signal ends it. */
  alone(call: Call, signal: AbortSignal | undefined): Promise<Result>;
  /** Runs several calls as one: all of them have an effect, or none if it rejects. @returns same length, same order */
  together(calls: readonly Call[]): Promise<readonly Result[]>;
  /** Makes a test for a group: whether a call can join the calls that passed before it. The first call passes. */
  fitting(): (call: Call) => boolean;
  /** The rejection of a call that ends while its group runs. */
  ended(error: FhirError): FhirError;
}

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly signal: AbortSignal | undefined;
  resolve(result: Result | Promise<Result>): void;
  reject(error: unknown): void;
  /** True if the call was aborted and rejected. */
  hasEnded: boolean;
  /** True if its group has begun. */
  isRunning: boolean;
}

/**
 * Runs few calls at a time, each by itself. Calls that arrive while others run wait, and run as one: a round trip and a
 * statement cost more than the work of most calls.
 *
 * If a group fails, each of its calls runs again by itself, so that the error of one call does not reach the others.
 */
export class CallGroups<Call, Result> {
  #running = 0;
  #waiting: Waiting<Call, Result>[] = [];
  #isWaitLimited = false;

  constructor(private readonly calls: GroupedCalls<Call, Result>) {}

  run(call: Call, signal: AbortSignal | undefined): Promise<Result> {
    if (this.#running < MAX_RUNNING) return this.#counted(this.calls.alone(call, signal));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const one: Waiting<Call, Result> = { call, signal, resolve, reject, hasEnded: false, isRunning: false };
    const abort = (): void => {
      one.hasEnded = true;
      const error = callAborted(signal);
      reject(one.isRunning ? this.calls.ended(error) : error);
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting.push(one);
    this.#limitWait();
    return signal === undefined ? promise : promise.finally(() => signal.removeEventListener('abort', abort));
  }

  /** Begins a group after a while, so that calls that are held up, by a lock for example, hold up no others. */
  #limitWait(): void {
    if (this.#isWaitLimited) return;
    this.#isWaitLimited = true;
    setTimeout(() => {
      this.#isWaitLimited = false;
      this.#next();
      if (this.#waiting.length > 0) this.#limitWait();
    }, MAX_WAIT_MS);
  }

  async #counted<Value>(work: Promise<Value>): Promise<Value> {
    this.#running += 1;
    try {
      return await work;
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #next(): void {
    const group = this.#take();
    if (group.length === 0) return;
    for (const one of group) one.isRunning = true;
    if (group.length > 1) void this.#counted(this.#together(group));
    else for (const one of group) one.resolve(this.#counted(this.#alone(one)));
  }

  /** Never rejects. */
  async #together(group: readonly Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await this.calls.together(group.map(({ call }) => call));
      for (const [index, one] of group.entries()) one.resolve(results[index]!);
    } catch (error) {
      // The outcome of every call is unknown.
      if (isInDoubt(error)) for (const one of group) one.reject(error);
      else for (const one of group) if (!one.hasEnded) one.resolve(this.#alone(one));
    }
  }

  /** From here on, its signal ends the call itself. */
  #alone(one: Waiting<Call, Result>): Promise<Result> {
    one.isRunning = false;
    return this.calls.alone(one.call, one.signal);
  }

  /** The first waiting calls that fit together. */
  #take(): readonly Waiting<Call, Result>[] {
    const group: Waiting<Call, Result>[] = [];
    const left: Waiting<Call, Result>[] = [];
    const fits = this.calls.fitting();
    for (const one of this.#waiting) {
      if (one.hasEnded) continue;
      if (group.length < MAX_GROUP && fits(one.call)) group.push(one);
      else left.push(one);
    }
    this.#waiting = left;
    return group;
  }
}

/** After this many milliseconds, a group begins, however many calls run. */
const MAX_WAIT_MS = 20;

/** Usual maximum of calls and groups that run at the same time. */
const MAX_RUNNING = 2;
const MAX_GROUP = 32;
