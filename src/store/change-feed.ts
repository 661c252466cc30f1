import type { Change } from './write.js';
import { warn } from '../platform/runtime.js';

/** The listeners of a store. */
export class ChangeFeed {
  readonly #listeners = new Set<{ readonly notify: (changes: readonly Change[]) => void }>();

  /** @returns a function that stops the listener. The same function may listen twice. */
  subscribe(listener: (changes: readonly Change[]) => void): () => void {
    const subscription = { notify: listener };
    this.#listeners.add(subscription);
    return () => void this.#listeners.delete(subscription);
  }

  /**
   * Notifies all listeners in the order of subscription. Commits without changes are not published.
   *
   * A listener that fails, at once or in its promise, is reported as a process warning: the commit is done, and the other
   * listeners are still notified.
   */
  publish(changes: readonly Change[]): void {
    if (changes.length === 0 || this.#listeners.size === 0) return;
    const frozen = Object.freeze(
      changes.map((change) => Object.freeze({ ...change, key: Object.freeze({ ...change.key }) })),
    );
    const failed = (error: unknown): void => warn(error, 'FHIRGRAPH_LISTENER');
    for (const { notify } of [...this.#listeners]) {
      try {
        const taken: unknown = notify(frozen);
        if (taken !== undefined) Promise.resolve(taken).catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }
}
