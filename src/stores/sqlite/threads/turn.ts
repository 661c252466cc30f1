import { setImmediate as nextTurn } from 'node:timers/promises';
import { THREAD_TUNING } from '../database/tuning.js';

/**
 * The current turn of the event loop.
 *
 * Promises that are settled already give no other work its turn, so calls that await each other would hold the event loop
 * as long as all of them together.
 */
export class Turn {
  #start: number | undefined;
  readonly #end = (): void => {
    this.#start = undefined;
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

  /** Waits until others have had their turn. */
  async next(): Promise<void> {
    do await nextTurn();
    while (this.isSpent);
  }
}
