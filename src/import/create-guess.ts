import type { ResourceStore } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';
import { failedIndex } from '../access/write-error.js';
import type { GuardedKey, GuardedWrite } from '../access/contract.js';
import { isConflict } from '../store/conflicts.js';

/**
 * Guesses which resources of an import are new: those of a type of which the last ones all were.
 *
 * PERF: what is expected to be new is created without being read before. A wrong guess costs a commit that fails, so a type of which
 * some resources were stored already, such as the Organizations that many Bundles share, is not guessed again soon.
 */
export class CreateGuess {
  readonly #types = new Map<string, { newInARow: number; needed: number }>();

  /** The next resources of a type are expected to be new. */
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
  /** After so many new resources of a type the next ones are expected to be new. */
  newInARow: 100,
};

/** The guess for imports into a store that follow each other. */
export function createGuessOf(store: ResourceStore): CreateGuess {
  let guess = GUESSES.get(store);
  if (guess === undefined) GUESSES.set(store, (guess = new CreateGuess()));
  return guess;
}

const GUESSES = new WeakMap<ResourceStore, CreateGuess>();
