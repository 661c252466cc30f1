import type { FhirError } from '../../../fhir/error.js';
import { MAX_DELAY_MS } from '../../../platform/runtime.js';
import { callAborted, callTimedOut } from '../../../store/guards.js';
import type { CallOptions } from '../../../store/call-options.js';
import type { ThreadCall, WritePart } from './protocol.js';
import { WRITING } from './work.js';

interface Settle {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A call on its way through a pool. It ends at its deadline, wherever it is then. */
export class Task {
  readonly call: ThreadCall;
  /** The parts that are sent before the call. */
  readonly parts: () => AsyncIterable<WritePart>;
  readonly promise: Promise<unknown>;
  /** Ends the call while a thread works on it. */
  onCancel: (() => void) | undefined;
  /** True if a thread may have begun the call. */
  isSent = false;
  /** How many threads died while they worked on the call. */
  deaths = 0;
  readonly #deadline: number | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#cancel();
  #settle: Settle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reason: FhirError | undefined;

  constructor(call: ThreadCall, parts: Task['parts'], { deadline, signal }: CallOptions = {}) {
    this.call = call;
    this.parts = parts;
    this.#deadline = deadline;
    this.#signal = signal;
    this.promise = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (deadline !== undefined) this.#timer = setTimeout(this.#onAbort, Math.min(this.left!, MAX_DELAY_MS));
  }

  get isSettled(): boolean {
    return this.#settle === undefined;
  }

  /** True if the call changes the file. */
  get writes(): boolean {
    return this.call.kind === 'commit' || WRITING.has(this.call.kind);
  }

  /** Milliseconds until the deadline. */
  get left(): number | undefined {
    return this.#deadline === undefined ? undefined : Math.max(0, this.#deadline - performance.now());
  }

  /** The error of a call that ends before its answer. */
  ending(): FhirError {
    return this.#reason ?? (this.#signal?.aborted === true ? callAborted(this.#signal) : callTimedOut());
  }

  resolve(result: unknown): void {
    this.#end()?.resolve(result);
  }

  reject(error: unknown): void {
    this.#end()?.reject(error);
  }

  /** Ends the call early, rejected with the reason. */
  cancel(reason: FhirError): void {
    this.#reason = reason;
    this.#cancel();
  }

  #cancel(): void {
    if (this.onCancel === undefined) this.reject(this.ending());
    else this.onCancel();
  }

  #end(): Settle | undefined {
    const settle = this.#settle;
    this.#settle = undefined;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    return settle;
  }
}

/** The parts of a call before which nothing is sent. */
export async function* noParts(): AsyncGenerator<never> {
  // Nothing.
}
