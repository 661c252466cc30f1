import { LRUCache } from 'lru-cache';
import { deepFreeze } from '../../../store/versioned.js';
import type { StoredResource } from '../../../store/stored-resource.js';
import type { CallTexts } from '../../../store/text-budget.js';
import type { Guard } from '../database/guard.js';
import { type KeptText, parseKept, textLost } from './kept-text.js';
import type { Statements } from '../database/statements.js';
import { THREAD_TUNING } from '../database/tuning.js';

/**
 * Resources by `version.key`, parsed.
 *
 * A version key never changes its meaning, so a cached object stays valid forever and in every process. The first read
 * of a version returns an object that the caller owns, and caches only the key, so a cold read does not pay for
 * freezing. The second read freezes, caches and shares the object; later reads do not even load its text.
 */
export class Contents {
  readonly #shared: LRUCache<number, SharedResource> | undefined;
  readonly #seen = new RecentKeys();
  /** Estimated length of a text, learned from the texts read so far. */
  #textLength = FIRST_LENGTH;
  /** How much was read so far, from texts and from the cache, in UTF-16 code units. */
  read = 0;
  /** Called when the first object is cached. */
  onFilled: (() => void) | undefined;

  /** @param cacheBytes maximum JSON text of the cached objects; 0 disables the cache. */
  constructor(
    private readonly statements: Statements,
    cacheBytes: number,
    private readonly guard: Guard,
  ) {
    this.#shared = cacheBytes > 0 ? new LRUCache({ maxSize: cacheBytes }) : undefined;
  }

  /** JSON text of the cached objects, in UTF-16 code units (bytes for ASCII). */
  get cachedBytes(): number {
    return this.#shared?.calculatedSize ?? 0;
  }

  /** How many resources can be read and parsed in some milliseconds. */
  get slice(): number {
    return Math.max(1, Math.floor(SLICE_LENGTH / this.#textLength));
  }

  /** How many texts a statement can read in some milliseconds; they are parsed in slices. */
  get textsAtOnce(): number {
    return TEXTS_PER_PARSED * this.slice;
  }

  /** How many texts are read with their page. None with a cache, since only the texts are read that it lacks. */
  get textsWithPage(): number {
    return this.isCaching ? 0 : Math.min(THREAD_TUNING.slice, this.slice);
  }

  get isCaching(): boolean {
    return this.#shared !== undefined;
  }

  /** Drops all objects, because some of them may have been removed from the file. */
  forget(): void {
    this.#shared?.clear();
  }

  /**
   * The resources of these versions, in order. Repeated keys give separate objects, or a shared frozen object.
   *
   * @param elements the elements needed of the resource at a position
   */
  load(keys: readonly number[], elements: ElementsAt = ALL_ELEMENTS): StoredResource[] {
    const shared = this.#shared;
    if (shared === undefined) return this.parse(this.textsOf(keys), elements);
    const results = keys.map((key) => this.#sharedOf(key));
    const missing = keys.filter((_, index) => results[index] === undefined);
    if (missing.length === 0) return results as StoredResource[];
    const texts = this.textsOf(missing);
    let next = 0;
    return results.map((found, index) => found ?? this.#parse(keys[index]!, texts[next++], elements(index)));
  }

  /** The resources of loaded texts, without a cache. @throws FhirError `corrupt` */
  parse(texts: readonly (KeptText | undefined)[], elements: ElementsAt): StoredResource[] {
    return texts.map((kept, index) => {
      if (kept === undefined) throw textLost();
      return this.fromText(kept, elements(index));
    });
  }

  /** The resource of a version from its loaded text, without a cache. */
  fromText(kept: KeptText, elements: readonly string[] | undefined): StoredResource {
    this.guard.check();
    this.#noteLength(kept[3]);
    return parseKept(kept, elements);
  }

  #parse(key: number, kept: KeptText | undefined, elements: readonly string[] | undefined): StoredResource {
    if (kept === undefined) throw textLost();
    this.guard.check();
    this.#noteLength(kept[3]);
    const shared = this.#shared!;
    const isToBeShared = this.#seen.has(key);
    const stored = parseKept(kept, isToBeShared ? undefined : elements);
    this.#seen.add(key);
    if (isToBeShared) {
      if (shared.size === 0) this.onFilled?.();
      const text = kept[3]!;
      shared.set(key, { stored: deepFreeze(stored), bytes: Buffer.byteLength(text) }, { size: text.length });
    }
    return stored;
  }

  #sharedOf(key: number): StoredResource | undefined {
    const shared = this.#shared?.get(key);
    if (shared === undefined) return undefined;
    this.read += shared.bytes;
    return shared.stored;
  }

  /** A long text raises the estimate at once; shorter texts lower it bit by bit. */
  #noteLength(text: string | null): void {
    this.read += text?.length ?? 0;
    this.#textLength = Math.max(text?.length ?? 0, this.#textLength * 0.9, 1);
  }

  /**
   * How many of the first versions have texts that a call may read together.
   *
   * SQLite knows the length of a text without reading it, and the cache knows those of its texts. Usually their sum is
   * enough.
   *
   * @throws FhirError `too-costly`
   */
  fitting(keys: readonly number[], texts: CallTexts): number {
    if (!texts.isBounded || keys.length === 0) return keys.length;
    let sum = 0;
    const missing = keys.filter((key) => {
      const bytes = this.#shared?.peek(key)?.bytes;
      sum += bytes ?? 0;
      return bytes === undefined;
    });
    if (missing.length > 0) sum += (this.statements.read(SUM_OF_OCTETS).get(JSON.stringify(missing)) as [number])[0];
    if (sum <= texts.room && texts.takes(sum)) return keys.length;
    const rows = this.statements.read(OCTETS).all(JSON.stringify(keys)) as readonly [number][];
    return texts.fitting(rows.map(([octets]) => octets));
  }

  /** PERF (import-rate): one statement for all, because each statement takes and releases SQLite's read lock, which takes 2 µs. */
  textsOf(keys: readonly number[]): readonly (KeptText | undefined)[] {
    const [key] = keys;
    if (keys.length === 1) return [this.statements.read(ONE_TEXT).get(key!) as KeptText | undefined];
    const texts: (KeptText | undefined)[] = new Array<undefined>(keys.length);
    const rows = this.statements.read(TEXTS).all(JSON.stringify(keys)) as readonly TextRow[];
    for (const row of rows) texts[row[5]] = row;
    return texts;
  }
}

/** A frozen resource, with the size of its text. */
interface SharedResource {
  readonly stored: StoredResource;
  /** As UTF-8. */
  readonly bytes: number;
}

/** The elements that are needed of the resource at a position; undefined: all. */
export type ElementsAt = (position: number) => readonly string[] | undefined;

const ALL_ELEMENTS: ElementsAt = () => undefined;

/** Total length of the texts that are read at once, in UTF-16 code units. */
const SLICE_LENGTH = 512 * 1024;
const FIRST_LENGTH = 8 * 1024;
/** Reading a text takes an eighth of the time of reading and parsing it. */
const TEXTS_PER_PARSED = 8;

/** Texts of versions by their keys, a JSON list. */
export const TEXTS = `SELECT v.resource, v.version, v.updated, v.text, v.sum, j.key
  FROM json_each(?) j CROSS JOIN version v
  WHERE v.key = j.value AND v.text IS NOT NULL`;

const ofKeys = (value: string): string => `SELECT ${value} FROM json_each(?) j LEFT JOIN version v ON v.key = j.value`;
const SUM_OF_OCTETS = ofKeys('coalesce(sum(octet_length(v.text)), 0)');
const OCTETS = `${ofKeys('coalesce(octet_length(v.text), 0)')} ORDER BY j.key`;

/** PERF (import-rate): one text takes half the time without the list. */
export const ONE_TEXT = 'SELECT resource, version, updated, text, sum FROM version WHERE key = ? AND text IS NOT NULL';

type TextRow = readonly [
  resource: number,
  version: number,
  updated: number,
  text: string,
  sum: number | null,
  position: number,
];

/** Recently requested keys: at least the last 32,768, at most twice as many. */
class RecentKeys {
  #current = new Set<number>();
  #previous = new Set<number>();

  has(key: number): boolean {
    return this.#current.has(key) || this.#previous.has(key);
  }

  add(key: number): void {
    if (this.#current.size >= 32_768) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    this.#current.add(key);
  }
}
