import { keyText } from '../../../fhir/reference.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { ReadResult } from '../../../store/stored-resource.js';

/**
 * Resources that a read did not find a moment ago: imports read all resources that they are about to write. Only a
 * guess: if another process has written the resource since, a commit that relies on it fails, and its next attempt
 * looks the resource up.
 */
export class MissingKeys {
  readonly #texts = new Set<string>();

  /** Notes the results of a read of several resources. */
  note(keys: readonly ResourceKey[], results: readonly ReadResult[]): void {
    if (keys.length < MIN_KEYS) return;
    if (this.#texts.size > MAX_KEYS) this.#texts.clear();
    for (const [index, key] of keys.entries()) {
      if (results[index]?.status === 'missing') this.#texts.add(textOf(key));
    }
  }

  /** Whether the resource was missing. Forgets it. */
  take(key: ResourceKey): boolean {
    return this.#texts.size > 0 && this.#texts.delete(textOf(key));
  }
}

function textOf(key: ResourceKey): string {
  return `${key.project} ${keyText(key)}`;
}

/** Smaller reads rarely belong to an import. */
const MIN_KEYS = 20;
/** Each takes about 100 bytes. */
const MAX_KEYS = 20_000;
