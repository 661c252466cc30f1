import { nextTurn } from '../../../platform/timers.js';

/**
 * The calls of resolvers that run beside the levels of store calls, so that a slow one delays nothing but what is selected
 * in it.
 */
export class HostCalls {
  // PERF: most requests have none.
  #running: Set<Promise<void>> | undefined;
  #failures: unknown[] = [];

  /** @param work rejects only with what ends the request */
  start(work: Promise<void>): void {
    const running: Promise<void> = work
      .catch((error: unknown) => void this.#failures.push(error))
      .finally(() => this.#running!.delete(running));
    (this.#running ??= new Set()).add(running);
  }

  get isIdle(): boolean {
    return this.#count === 0 && this.#failures.length === 0;
  }

  get #count(): number {
    return this.#running?.size ?? 0;
  }

  /** Waits for one of them, and for those that end in the same turn: what is selected in them then shares calls. */
  async next(): Promise<void> {
    if (this.#count > 0) await Promise.race(this.#running!);
    await this.takeTurn();
  }

  /**
   * Lets resolvers that need not wait for anything end with their level.
   *
   * @throws what ended one of them, if it ends the request
   */
  async takeTurn(): Promise<void> {
    if (this.isIdle) return;
    await nextTurn();
    const [failure] = this.#failures.splice(0, 1);
    if (failure !== undefined) throw failure as Error;
  }
}
