import { setImmediate as turn } from 'node:timers/promises';
import { addList, listAt, readInto, readList } from '../../sql/skip/key-bytes.js';
import { KeySet } from '../../sql/skip/key-set.js';
import { KEYS_IN_ROW as REFERENCES_IN_ROW } from '../../sql/skip/references.js';
import { sql, type Sql } from '../../sql/sql.js';
import type { RowScope } from '../../sql/rows.js';
import { arrayText } from '../array.js';
import { projectKey, uuidText } from '../keys.js';
import type { Run } from '../run.js';
import { ABSENT, type Kept, type SkipCache } from './skip-cache.js';
import {
  BY_LARGEST,
  BY_SMALLEST,
  FORMAT,
  GRANULES_IN_ROW,
  HEADER,
  IDS,
  KEYS_IN_ROW,
  ORDER,
  PRESENCE,
  type ReferencesHead,
  SETS,
  SKIP_TUNING,
  type SkipHeader,
  type SkipOrder,
  type SystemsOf,
  TARGETS,
} from './skip-row.js';
import type { SortedKeys } from './sorted-keys.js';
import { StoredReferences } from './stored-references.js';
import { StoredRows } from './stored-rows.js';

/** A type of a project. */
export interface StaleType {
  readonly project: string;
  readonly type: string;
  /** True while searches do not use its skip index, or will soon stop. */
  readonly isUnused: boolean;
}

/** Notes a type that lacks a skip index, or whose skip index should be rebuilt. */
export type NoteStale = (type: StaleType) => void;

/** Where skip indexes are read. */
export interface SkipSource {
  readonly epoch: string;
  readonly cache: SkipCache;
  /** Called with each type that lacks a skip index. */
  readonly noteStale?: NoteStale | undefined;
}

/** A row of the table. */
export interface RowName {
  readonly sort: number;
  readonly subject: number;
  readonly value: string;
}

/** An order, with the numbers of each granule. */
export interface SkipOrderKeys extends SkipOrder {
  /** The numbers of a granule in ascending order. Load its row first. @param granule from 0 up to the number of starts */
  keysOf(granule: number, among: KeySet): readonly number[];
  addTo(set: KeySet, granule: number): void;
  /** The rows of some granules. */
  rowsOf(from: number, to: number): readonly RowName[];
}

/**
 * The skip index of a type of a project, as of the moment it was built: see skip-row.ts. Load rows before using them.
 */
export class SkipIndex {
  readonly header: SkipHeader;
  /** The number of resources written since: the index does not describe them. */
  readonly pending: number;
  readonly all: KeySet;
  readonly #of: Sql;
  readonly #scope: { readonly shard: string; readonly type: string };
  readonly #run: Run;
  readonly #cache: SkipCache;
  readonly #rows = new Map<string, Kept>();
  readonly #stored: StoredRows;
  #written: Promise<readonly number[]> | undefined;

  private constructor(header: SkipHeader, pending: number, { project, type }: RowScope, run: Run, cache: SkipCache) {
    this.header = header;
    this.pending = pending;
    this.#scope = { shard: projectKey(project), type };
    this.#of = ofType(project, type);
    this.#run = run;
    this.#stored = new StoredRows(this.#of, run);
    this.#cache = cache;
    this.all = new KeySet(0, header.size).fill();
  }

  /**
   * Undefined where the database has no valid one, or too much was written since.
   *
   * @param run in one snapshot with the search
   */
  static async open(
    scope: RowScope,
    { epoch, cache, noteStale }: SkipSource,
    run: Run,
  ): Promise<SkipIndex | undefined> {
    const { project, type } = scope;
    const of = ofType(project, type);
    const { maxPending, maxFresh, urgent } = SKIP_TUNING;
    const [row] =
      await run(sql`SELECT (SELECT s.data FROM fhirgraph_skip s WHERE ${of} AND s.sort = ${SETS}::bigint AND s.subject = ${IDS}::bigint AND s.value = ${HEADER}),
      (SELECT count(*) FROM (SELECT 1 FROM fhirgraph_skip_written s WHERE ${of} LIMIT ${maxPending + 1}) w)`);
    const [text, count] = row as readonly [string | null, unknown];
    const header = text === null ? undefined : (JSON.parse(text) as SkipHeader);
    const isValid = header !== undefined && header.format === FORMAT && header.epoch === epoch;
    const pending = Number(count);
    const isUsed = isValid && pending <= maxPending;
    if (!isValid || pending > maxFresh) noteStale?.({ project, type, isUnused: !isUsed || pending > urgent });
    return isUsed ? new SkipIndex(header, pending, scope, run, cache) : undefined;
  }

  emptySet(): KeySet {
    return new KeySet(0, this.header.size);
  }

  /** Reads the rows that are not cached. */
  async load(names: readonly RowName[]): Promise<void> {
    const lacking = new Map<string, RowName>();
    for (const name of names) {
      const key = this.#keyOf(name);
      if (this.#rows.has(key)) continue;
      const kept = this.#cache.get(key);
      if (kept === undefined) lacking.set(key, name);
      else this.#rows.set(key, kept);
    }
    if (lacking.size === 0) return;
    const wanted = [...lacking.values()];
    const columns = (['sort', 'subject', 'value'] as const).map((name) => arrayText(wanted.map((one) => one[name])));
    const rows = await this.#run(sql`SELECT a.n, r.data
      FROM unnest(${columns[0]!}::bigint[], ${columns[1]!}::bigint[], ${columns[2]!}::text[]) WITH ORDINALITY a(sort, subject, value, n)
      CROSS JOIN LATERAL (SELECT s.data FROM fhirgraph_skip s WHERE ${this.#of} AND s.sort = a.sort AND s.subject = a.subject
        AND s.value = a.value OFFSET 0) r`);
    const found = new Map(rows.map(([n, data]) => [Number(n) - 1, data as string]));
    wanted.forEach((name, index) => {
      const text = found.get(index);
      this.#keep(name, text === undefined ? ABSENT : this.#read(name, text));
    });
  }

  /** The resources with a value; undefined where they are not kept. Others may have the same set: it must not change. */
  setOf(subject: number, value: string): KeySet | undefined {
    const row = this.#row({ sort: SETS, subject, value });
    return row === ABSENT ? undefined : (row as KeySet);
  }

  /** The systems of a code or of a parameter, by the name of their row; undefined where they are not kept. */
  systemsOf(subject: number, value: string): SystemsOf | undefined {
    const row = this.#row({ sort: SETS, subject, value });
    return row === ABSENT ? undefined : (row as SystemsOf);
  }

  order(sort: number, descending: boolean): SkipOrderKeys | undefined {
    const smallest = this.#row(orderName(sort, BY_SMALLEST));
    if (smallest === ABSENT) return undefined;
    const subject = descending && (smallest as SkipOrder).several ? BY_LARGEST : BY_SMALLEST;
    const order = this.#row(orderName(sort, subject)) as SkipOrder;
    const last = order.starts.length;
    // PERF: those of a row are asked for one after the other.
    let [row, bytes] = [-1, undefined as Uint8Array | undefined];
    const listOf = (granule: number): Uint8Array => {
      const place = Math.floor(granule / GRANULES_IN_ROW);
      if (place !== row) bytes = this.#row({ sort, subject, value: String(place) }) as Uint8Array;
      row = place;
      const lists = Math.min(GRANULES_IN_ROW, last + 1 - place * GRANULES_IN_ROW);
      return listAt(bytes!, granule % GRANULES_IN_ROW, lists);
    };
    return {
      ...order,
      keysOf: (granule, among) => readList(listOf(granule), 0, among),
      addTo: (set, granule) => addList(set, listOf(granule)),
      rowsOf(from, to) {
        const rows: RowName[] = [];
        for (let row = Math.floor(from / GRANULES_IN_ROW); row * GRANULES_IN_ROW <= to; row++) {
          rows.push({ sort, subject, value: String(row) });
        }
        return rows;
      },
    };
  }

  /** The order by a parameter that no resource has a value of. Undefined where one has: load its presence first. */
  orderWithoutValues(parameter: number): SkipOrderKeys | undefined {
    if (this.#row(presenceName(parameter)) !== ABSENT) return undefined;
    return {
      // What was written since may have values, which are before this type's last granule.
      starts: [''],
      ties: [],
      several: false,
      keysOf: (granule, among) => (granule === 0 ? [] : among.keys()),
      addTo: (set, granule) => void (granule === 0 || set.unite(this.all)),
      rowsOf: () => [],
    };
  }

  /** Whether some resource may have several values of a parameter. Load the order first. */
  hasSeveral(parameter: number): boolean {
    const order = this.#row(orderName(parameter, BY_SMALLEST));
    return order === ABSENT || (order as SkipOrder).several;
  }

  /** Selects the keys of some numbers, except those of resources written since. */
  keysOf(numbers: readonly number[]): Sql {
    const keys = sql`SELECT k.key FROM unnest(${arrayText(numbers)}::int[]) i(n) CROSS JOIN LATERAL (
      SELECT s.keys[i.n - s.first + 1] AS key FROM fhirgraph_skip_key s WHERE ${this.#of} AND s.first = i.n & ${-KEYS_IN_ROW}::int OFFSET 0) k`;
    if (this.pending === 0) return keys;
    return sql`${keys} WHERE k.key NOT IN (${this.written})`;
  }

  /** Selects the numbers of keys; none for those that the index does not have. */
  numbersOf(keys: Sql): Sql {
    return sql`SELECT k.n FROM (${keys}) i(key) CROSS JOIN LATERAL (
      SELECT s.first + array_position(s.keys, i.key) - 1 AS n FROM fhirgraph_skip_key s
        WHERE s.project::text = ${uuidText(this.#scope.shard)} AND s.type = ${this.#scope.type} AND s.keys[1] <= i.key
        ORDER BY s.keys[1] DESC LIMIT 1) k WHERE k.n IS NOT NULL`;
  }

  /** The keys of all numbers. PERF: the numbers of a few keys are found faster by {@link numbersOf}. */
  keys(): Promise<SortedKeys> {
    return this.#kept('keys', () => this.#stored.keys(SETS, IDS, this.header.size));
  }

  /** The references of a parameter. */
  references(parameter: number): Promise<StoredReferences> {
    return this.#kept(`references ${parameter}`, async () => {
      const [[text] = []] = await this.#stored.named(parameter, TARGETS, [ORDER]);
      const { targets } = text === undefined ? { targets: 0 } : (JSON.parse(text) as ReferencesHead);
      const names =
        targets === 0
          ? []
          : Array.from({ length: Math.ceil(this.header.size / REFERENCES_IN_ROW) }, (_, row) => String(row));
      const rows = new Map<number, Uint8Array>();
      for await (const [data, value] of this.#stored.inParts(parameter, TARGETS, names)) {
        rows.set(Number(value), new Uint8Array(Buffer.from(data, 'base64')));
      }
      return new StoredReferences(await this.#stored.keys(parameter, TARGETS, targets), rows);
    });
  }

  /** For each target of references here, its number in the index of another type, or -1. */
  numbersOfTargets(parameter: number, { targets }: StoredReferences, other: SkipIndex): Promise<Int32Array> {
    return this.#kept(`numbers ${parameter} ${other.header.id}`, async () => {
      const keys = await other.keys();
      await turn();
      return targets.placesIn(keys);
    });
  }

  /** The numbers of the resources written since. A number may come several times. */
  writtenNumbers(): Promise<readonly number[]> {
    return (this.#written ??= this.#numbersOfWritten());
  }

  async #numbersOfWritten(): Promise<readonly number[]> {
    if (this.pending === 0) return [];
    if (this.pending <= SKIP_TUNING.maxNumbered) {
      const rows = await this.#run(this.numbersOf(sql`SELECT DISTINCT w.resource FROM (${this.written}) w`));
      return rows.map(([number]) => Number(number));
    }
    const bytes = sql`SELECT encode(string_agg(uuid_send(w.resource), ''), 'base64') FROM (${this.written}) w`;
    const [[text]] = (await this.#run(bytes)) as [[string]];
    return (await this.keys()).placesOf(Buffer.from(text, 'base64'));
  }

  /** Selects the keys of the resources written since. */
  get written(): Sql {
    return sql`SELECT s.resource FROM fhirgraph_skip_written s WHERE ${this.#of}`;
  }

  async #kept<Value extends { readonly byteLength: number }>(name: string, read: () => Promise<Value>): Promise<Value> {
    const key = `${this.header.id} ${name}`;
    const known = this.#cache.get(key) as Value | undefined;
    if (known !== undefined) return known;
    const value = await read();
    this.#cache.set(key, value);
    return value;
  }

  #row(name: RowName): Kept {
    const row = this.#rows.get(this.#keyOf(name));
    if (row === undefined) throw new Error('A row of a skip index was not loaded');
    return row;
  }

  #read({ sort }: RowName, text: string): Kept {
    // Base64 has no braces.
    if (text.startsWith('{')) return JSON.parse(text) as SkipOrder | SystemsOf;
    const bytes = Buffer.from(text, 'base64');
    if (sort !== SETS) return bytes;
    const set = this.emptySet();
    readInto(set, bytes, () => this.all);
    return set;
  }

  #keep(name: RowName, kept: Kept): void {
    const key = this.#keyOf(name);
    this.#rows.set(key, kept);
    this.#cache.set(key, kept);
  }

  #keyOf({ sort, subject, value }: RowName): string {
    return `${this.header.id} ${sort} ${subject} ${value}`;
  }
}

function ofType(project: string, type: string): Sql {
  return sql`s.project = ${projectKey(project)} AND s.type = ${type}`;
}

/** The row of the resources with a value. */
export function presenceName(parameter: number): RowName {
  return { sort: SETS, subject: parameter, value: PRESENCE };
}

/** The rows that describe an order. */
export function orderNames(sort: number): readonly RowName[] {
  return [orderName(sort, BY_SMALLEST), orderName(sort, BY_LARGEST)];
}

function orderName(sort: number, subject: number): RowName {
  return { sort, subject, value: ORDER };
}
