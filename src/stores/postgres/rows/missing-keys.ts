import { keyText } from '../../../fhir/reference.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { ReadResult } from '../../../store/stored-resource.js';

/**
 * Resources that a read did not find a moment ago, as imports do: they read all that they are about to write. Only a guess: a
 * commit that rests on it fails where another process has written the resource since, and looks it up in its next attempt.
 */
export class MissingKeys {
  readonly #texts = new Set<string>();

  /** To be called with what a read of several resources answered. */
  note(keys: readonly ResourceKey[], results: readonly ReadResult[]): void {
    if (keys.length < MIN_KEYS) return;
    if (this.#texts.size > MAX_KEYS) this.#texts.clear();
    for (const [index, key] of keys.entries()) {
      if (results[index]?.status === 'missing') this.#texts.add(textOf(key));
    }
  }

  /** Whether the resource was missing; it is forgotten. */
  take(key: ResourceKey): boolean {
    return this.#texts.size > 0 && this.#texts.delete(textOf(key));
  }
}

function textOf(key: ResourceKey): string {
  return `${key.project} ${keyText(key)}`;
}

/** Smaller reads are seldom those of an import. */
const MIN_KEYS = 20;
/** About 100 bytes each. */
const MAX_KEYS = 20_000;
