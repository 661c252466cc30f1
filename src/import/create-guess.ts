import { failedIndex, type GuardedKey, type GuardedWrite } from '../access/contract.js';
import { getOrCreate } from '../platform/maps.js';
import { isConflict } from '../store/conflicts.js';
import { storeBehind } from '../store/store-view.js';
import type { ResourceStore } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';

/**
 * Guesses which resources of an import are new: it expects a type's next resources to be new if its last ones all were.
 *
 * PERF: a resource that is expected to be new is created without a read. A wrong guess costs a failed commit, so after
 * one, a type needs four times as many new resources in a row, as with the Organizations that many Bundles share.
 */
export class CreateGuess {
  readonly #types = new Map<string, { newInARow: number; needed: number }>();

  /** True if the next resources of a type are expected to be new. */
  expectsNew(type: string): boolean {
    const known = this.#types.get(type);
    return known !== undefined && known.newInARow >= known.needed;
  }

  /** Learns from the stored versions of resources that are to be written. */
  learn(keys: readonly GuardedKey[], stored: readonly ReadResult[]): void {
    for (const [index, { type }] of keys.entries()) {
      if (stored[index]!.status === 'missing') this.#of(type).newInARow += 1;
      else this.#refute(type);
    }
  }

  /** Learns from the error of a commit that relied on it. */
  learnFailure(error: unknown, writes: readonly GuardedWrite[]): void {
    if (!isConflict(error)) return;
    const failed = writes[failedIndex(error) ?? -1];
    for (const write of failed === undefined ? writes : [failed]) {
      if (write.kind === 'put') this.#refute(write.key.type);
    }
  }

  #refute(type: string): void {
    const known = this.#of(type);
    known.newInARow = 0;
    known.needed *= MORE_AFTER_ERROR;
  }

  #of(type: string): { newInARow: number; needed: number } {
    let known = this.#types.get(type);
    if (known === undefined) this.#types.set(type, (known = { newInARow: 0, needed: GUESS_TUNING.newInARow }));
    return known;
  }
}

const MORE_AFTER_ERROR = 4;

/** Only tests change it. */
export const GUESS_TUNING = {
  /** After this many new resources of a type in a row, the next ones are expected to be new. */
  newInARow: 100,
};

/** The guess of a store, shared by successive imports into it. */
export function createGuessOf(store: ResourceStore): CreateGuess {
  return getOrCreate(GUESSES, storeBehind(store), () => new CreateGuess());
}

const GUESSES = new WeakMap<ResourceStore, CreateGuess>();
