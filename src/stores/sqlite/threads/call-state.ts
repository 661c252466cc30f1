/**
 * The state of calls, in memory that the event loop and a thread share: each side knows it before a message arrives.
 *
 * The event loop marks a call as cancelled before it checks whether the call has begun, and the thread marks it as
 * begun before it checks whether it is cancelled. So one side always sees the mark of the other, and a call that is
 * cancelled before it begins never runs.
 */
export class CallState {
  /** The numbers of the cancelled even call, the cancelled odd call and the last begun call. Two at most are open. */
  readonly #numbers: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Int32Array(memory);
  }

  static newMemory(): SharedArrayBuffer {
    return new SharedArrayBuffer(12);
  }

  begin(call: number): void {
    Atomics.store(this.#numbers, BEGUN, call);
  }

  hasBegun(call: number): boolean {
    return Atomics.load(this.#numbers, BEGUN) >= call;
  }

  cancel(call: number): void {
    Atomics.store(this.#numbers, call % 2, call);
  }

  isCancelled(call: number): boolean {
    return Atomics.load(this.#numbers, call % 2) === call;
  }
}

const BEGUN = 2;
