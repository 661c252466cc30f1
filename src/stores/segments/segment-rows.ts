import { FhirError } from '../../fhir/error.js';
import { type Ask, ask } from '../ask.js';
import type { RowKey, SegmentPort } from './port.js';

/**
 * Keeps what was read of segments, up to a size. Segments never change and their ids are random, so nothing that is kept
 * becomes wrong.
 */
export class SegmentCache {
  readonly #kept = new Map<string, { readonly value: unknown; readonly size: number }>();
  #size = 0;

  /** @param maxBytes of the rows as stored; read, they take about twice as much */
  constructor(readonly maxBytes = 64 * 1024 * 1024) {}

  get(name: string): unknown {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    return kept.value;
  }

  set(name: string, value: unknown, size: number): void {
    this.#size += size - (this.#kept.get(name)?.size ?? 0);
    this.#kept.delete(name);
    this.#kept.set(name, { value, size });
    for (const [oldest, { size: freed }] of this.#kept) {
      if (this.#size <= this.maxBytes) break;
      this.#kept.delete(oldest);
      this.#size -= freed;
    }
  }
}

/**
 * The rows that a search has read.
 *
 * Evaluation is a plain function of these rows. A row that it needs and that is not loaded is noted, and evaluation
 * continues with the other conditions. Then {@link withRows} reads all noted rows by one question, and evaluation starts
 * again. It takes as many questions as rows lead to other rows: directories, then blocks.
 */
export class LoadedRows {
  readonly #used = new Map<string, unknown>();
  readonly #noted = new Map<string, RowKey>();
  /** How many rows of a run are read together. It grows with each question of a page. */
  ahead = 1;

  /** @param built the rows of segments that are not stored, by their ids */
  constructor(
    readonly cache: SegmentCache,
    readonly built: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>> = new Map(),
  ) {}

  /**
   * The content of a row.
   *
   * @throws {@link NOT_LOADED} - the row is noted
   */
  read<Content>(segment: string, name: string, decode: (bytes: Uint8Array) => Content): Content {
    const key = `${segment} ${name}`;
    const used = this.#used.get(key) ?? this.cache.get(key) ?? this.#builtRow(segment, name);
    if (used === undefined) {
      this.#noted.set(key, { segment, name });
      throw NOT_LOADED;
    }
    if (used instanceof StoredRow) {
      const content = decoded(used.bytes, decode);
      this.cache.set(key, content, used.bytes.length + ROW_OVERHEAD);
      this.#used.set(key, content);
      return content;
    }
    this.#used.set(key, used);
    return used as Content;
  }

  /** Notes a row that will be needed. @returns false if it is loaded */
  note(segment: string, name: string): boolean {
    const key = `${segment} ${name}`;
    if (this.#used.has(key) || this.built.has(segment) || this.cache.get(key) !== undefined) return false;
    this.#noted.set(key, { segment, name });
    return true;
  }

  #builtRow(segment: string, name: string): StoredRow | undefined {
    const rows = this.built.get(segment);
    if (rows === undefined) return undefined;
    const bytes = rows.get(name);
    if (bytes === undefined) throw damaged();
    return new StoredRow(bytes);
  }

  get noted(): readonly RowKey[] {
    return [...this.#noted.values()];
  }

  accept(keys: readonly RowKey[], rows: readonly (Uint8Array | undefined)[]): void {
    this.#noted.clear();
    for (const [index, { segment, name }] of keys.entries()) {
      const bytes = rows[index];
      if (bytes === undefined) throw damaged();
      const row = new StoredRow(bytes);
      this.#used.set(`${segment} ${name}`, row);
      // A search that stops early does not use all rows that it has read ahead.
      this.cache.set(`${segment} ${name}`, row, bytes.length + ROW_OVERHEAD);
    }
  }
}

/** Bytes that nothing has read yet. */
class StoredRow {
  constructor(readonly bytes: Uint8Array) {}
}

const ROW_OVERHEAD = 100;

/** Thrown where a row is needed that is not loaded. */
export const NOT_LOADED = new Error('A row of a segment is not loaded');

function decoded<Content>(bytes: Uint8Array, decode: (bytes: Uint8Array) => Content): Content {
  try {
    return decode(bytes);
  } catch (cause) {
    throw damaged(cause);
  }
}

/** Every row that a segment names exists, and is as it was written. */
export function damaged(cause?: unknown): FhirError {
  return new DamagedSegment('internal', 'The index is damaged: a row of a segment is missing or cannot be read', {
    cause,
  });
}

/** The list should be made again. */
export class DamagedSegment extends FhirError {}

/** The result of an evaluation; undefined if a row is not loaded. */
export function ifLoaded<Result>(evaluate: () => Result): Result | undefined {
  try {
    return evaluate();
  } catch (error) {
    if (error !== NOT_LOADED) throw error;
    return undefined;
  }
}

/** Most rows of a run that are read together. */
const MAX_AHEAD = 16;

/** Evaluates, and reads the rows that are missing, until none is. */
export function* withRows<Result>(rows: LoadedRows, evaluate: () => Result): Ask<SegmentPort, Result> {
  for (rows.ahead = 1; ; rows.ahead = Math.min(MAX_AHEAD, 2 * rows.ahead)) {
    yield;
    const result = ifLoaded(evaluate);
    const { noted } = rows;
    if (noted.length === 0) return result as Result;
    rows.accept(noted, yield* ask((port: SegmentPort) => port.rows(noted)));
  }
}
