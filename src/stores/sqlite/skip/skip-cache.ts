import { LRUCache } from 'lru-cache';
import type { KeySet } from '../../sql/skip/key-set.js';

/**
 * What was read of skip indexes lately: lists as they are stored, long sets as they are used. It holds keys of resources, and
 * the codes of sets.
 *
 * The sets of a search live as long as it, and searches of a connection do not overlap: so they use the same memory in turn.
 *
 * PERF: a page may read a megabyte of lists and make as much of sets, and to release that takes as long as the page.
 */
export class SkipCache {
  readonly #entries = new LRUCache<string, Uint8Array | KeySet>({
    maxSize: MAX_BYTES,
    sizeCalculation: (entry) => 64 + (entry instanceof Uint8Array ? entry.length : entry.words.byteLength),
  });

  #used: Uint32Array[] = [];
  #free: Uint32Array[] = [];

  /** A search begins: the words of the last one's sets are free. */
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

/** Sets whose memory is kept for the next search. */
const MAX_FREE = 24;
