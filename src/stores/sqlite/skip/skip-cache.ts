import { LRUCache } from 'lru-cache';
import type { KeySet } from './key-set.js';

/**
 * What was read of skip indexes lately: lists as they are stored, long sets as they are used. It holds keys of resources, and
 * the codes of sets.
 *
 * PERF: a page may read a megabyte of lists, and to release that takes as long as the page.
 */
export class SkipCache {
  readonly #entries = new LRUCache<string, Uint8Array | KeySet>({
    maxSize: MAX_BYTES,
    sizeCalculation: (entry) => 64 + (entry instanceof Uint8Array ? entry.length : entry.words.byteLength),
  });

  /** @param name includes that of the rows' header, so what is kept never changes */
  get<Entry extends Uint8Array | KeySet>(name: string, read: () => Entry | undefined): Entry | undefined {
    const kept = this.#entries.get(name) as Entry | undefined;
    if (kept !== undefined) return kept;
    const entry = read();
    if (entry !== undefined) this.#entries.set(name, entry);
    return entry;
  }
}

const MAX_BYTES = 24 * 1024 * 1024;
