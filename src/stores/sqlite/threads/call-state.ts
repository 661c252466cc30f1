/**
 * What the event loop and a thread know about the calls of each other before a message comes, in memory that both share.
 *
 * A call is cancelled before the event loop looks whether it has begun, and begins before the thread looks whether it is cancelled. So
 * one of them always sees the other, and a call that is cancelled before it begins never happens.
 */
export class CallState {
  /** The cancelled call of an even number, that of an odd one, and the last that has begun. Two calls at most are with a thread. */
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
