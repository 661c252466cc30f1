import { LRUCache } from 'lru-cache';
import type { KeySet } from '../../../sql/skip/key-set.js';

/**
 * Caches recently read parts of skip indexes: lists in their stored form, long sets in their usable form. It holds keys of
 * resources, and the codes of sets.
 *
 * The sets of a search live as long as the search, and the searches of a connection do not overlap, so they reuse the same
 * memory.
 *
 * PERF: a page may read a megabyte of lists and make sets of the same size; releasing them takes as long as the page.
 */
export class SkipCache {
  readonly #entries = new LRUCache<string, Uint8Array | KeySet>({
    maxSize: MAX_BYTES,
    sizeCalculation: (entry) => 64 + (entry instanceof Uint8Array ? entry.length : entry.words.byteLength),
  });

  #used: Uint32Array[] = [];
  #free: Uint32Array[] = [];

  /** Begins a search, which may reuse the words of the previous search. */
  begin(): void {
    this.#free = [...this.#used, ...this.#free].slice(0, MAX_FREE);
    this.#used = [];
  }

  /** Words for a set of this search, all of them 0. */
  readonly allocate = (length: number): Uint32Array => {
    const index = this.#free.findIndex((words) => words.length === length);
    const words = index < 0 ? new Uint32Array(length) : this.#free.splice(index, 1)[0]!.fill(0);
    this.#used.push(words);
    return words;
  };

  /** @param name includes the name of the rows' header, so a cached value never changes */
  get<Entry extends Uint8Array | KeySet>(name: string, read: () => Entry | undefined): Entry | undefined {
    const kept = this.#entries.get(name) as Entry | undefined;
    if (kept !== undefined) return kept;
    const entry = read();
    if (entry !== undefined) this.#entries.set(name, entry);
    return entry;
  }
}

const MAX_BYTES = 24 * 1024 * 1024;

/** The number of sets whose memory the next search reuses. */
const MAX_FREE = 24;
