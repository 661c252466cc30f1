import { nextTurn } from '../../../platform/timers.js';

/**
 * The calls of resolvers that run in parallel with the levels of store calls, so that a slow resolver delays only the
 * fields below it.
 */
export class HostCalls {
  // PERF: most requests have none.
  #running: Set<Promise<void>> | undefined;
  #failures: unknown[] = [];

  /** @param work rejects only with an error that ends the request */
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

  /** Waits for one call, and for calls that end in the same turn, so that the fields below them share store calls. */
  async next(): Promise<void> {
    if (this.#count > 0) await Promise.race(this.#running!);
    await this.takeTurn();
  }

  /**
   * Lets resolvers that finish without waiting end with their level.
   *
   * @throws the error of a resolver, if it ends the request
   */
  async takeTurn(): Promise<void> {
    if (this.isIdle) return;
    await nextTurn();
    const [failure] = this.#failures.splice(0, 1);
    if (failure !== undefined) throw failure as Error;
  }
}
