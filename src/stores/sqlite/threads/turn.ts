import { THREAD_TUNING } from '../database/tuning.js';

/**
 * The current turn of the event loop.
 *
 * Promises that are settled already give no other work its turn, so calls that await each other would hold the event loop
 * as long as all of them together.
 */
export class Turn {
  #start: number | undefined;
  /** The calls that wait, in the order in which they came. There are as many pending {@link #release}s. */
  readonly #brief: (() => void)[] = [];
  readonly #long: (() => void)[] = [];
  /** How many brief calls passed the first long one. */
  #passed = 0;
  readonly #end = (): void => {
    this.#start = undefined;
  };
  readonly #release = (): void => {
    if (this.isSpent) setImmediate(this.#release);
    else this.#takeNext()();
  };

  /** Whether calls have used the event loop long enough. */
  get isSpent(): boolean {
    if (this.#start === undefined) {
      this.#start = performance.now();
      setImmediate(this.#end);
      return false;
    }
    return performance.now() - this.#start >= THREAD_TUNING.turnMs;
  }

  /** Waits until others have had their turn: between the parts of a call that takes whole turns, such as an import. */
  next(): Promise<void> {
    return this.#wait(this.#long);
  }

  /** Waits for the next turn before a call that takes a part of it, such as a read. It passes the long calls that wait. */
  nextForBrief(): Promise<void> {
    return this.#wait(this.#brief);
  }

  #wait(queue: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      queue.push(resolve);
      setImmediate(this.#release);
    });
  }

  #takeNext(): () => void {
    const isLongDue = this.#long.length > 0 && (this.#brief.length === 0 || this.#passed >= MAX_PASSED);
    this.#passed = isLongDue ? 0 : this.#passed + 1;
    return (isLongDue ? this.#long : this.#brief).shift()!;
  }
}

/** Brief calls that pass a long one at most, so that a flood of reads does not stop an import. */
const MAX_PASSED = 32;
