import { KeySet } from '../../../sql/skip/key-set.js';
import { sql, type Sql } from '../../../sql/sql.js';
import type { RowScope } from '../../../sql/rows.js';
import { arrayText } from '../../rows/array.js';
import { projectKey, uuidText } from '../../rows/keys.js';
import type { Run } from '../../database/run.js';
import { inKeyOrder, keysOfLayers, placesIn } from './layer-keys.js';
import { LayerRows } from './layer-rows.js';
import { ABSENT, type Kept, type SkipCache } from './skip-cache.js';
import { SkipOrders } from './skip-orders.js';
import {
  IDS,
  KEYS_IN_ROW,
  PRESENCE,
  REPLACED,
  SETS,
  SEVERAL,
  SKIP_TUNING,
  type SkipHeader,
  type SkipLayer,
  systemsName,
  type SystemsOf,
  wholeName,
} from '../../rows/skip-row.js';
import { type RowName, SkipRows } from './skip-rows.js';
import { ofType, type SkipSource, SkipStates } from './skip-state.js';
import type { SortedKeys } from '../format/sorted-keys.js';
import type { StoredReferences } from './stored-references.js';
import { type InSystem, readInSystem, systemsOfLayers, withWhole } from './systems-of-layers.js';

/**
 * The skip index of a type of a project, as of the moment its last layer was made: see skip-row.ts. Load rows before using
 * them.
 */
export class SkipIndex {
  readonly header: SkipHeader;
  /** The number of resources written since its last layer, which the index does not describe. */
  readonly pending: number;
  /** From the oldest to the latest. */
  readonly layers: readonly LayerRows[];
  /** An upper bound of all numbers. Some below it belong to no resource. */
  readonly size: number;
  readonly orders: SkipOrders;
  readonly #of: Sql;
  readonly #scope: { readonly shard: string; readonly type: string };
  readonly #run: Run;
  readonly #rows: SkipRows;
  #all: KeySet | undefined;
  #keys: readonly SortedKeys[] | undefined;
  #written: Promise<readonly number[]> | undefined;

  private constructor(header: SkipHeader, pending: number, { project, type }: RowScope, run: Run, cache: SkipCache) {
    this.header = header;
    this.pending = pending;
    this.#scope = { shard: projectKey(project), type };
    this.#of = ofType(project, type);
    this.#run = run;
    const oldest = { mark: '', first: 0, size: header.size };
    this.layers = [oldest, ...header.layers].map((one) => new LayerRows(one, header.id, this.#of, run, cache));
    this.#rows = new SkipRows(header.id, this.layers, this.#of, run, cache);
    const last = this.layers.at(-1)!;
    this.size = last.first + last.size;
    this.orders = new SkipOrders(this, this.#rows);
  }

  /**
   * Opens the skip index of a type. Undefined if the database has no valid one, or too much was written since.
   *
   * @param run runs in one snapshot with the search
   */
  static async open(
    scope: RowScope,
    { epoch, cache, noteStale }: SkipSource,
    run: Run,
    states = new SkipStates(scope.project, epoch, run),
  ): Promise<SkipIndex | undefined> {
    const { project, type } = scope;
    const { maxPending, maxFresh, urgent } = SKIP_TUNING;
    const { header, pending } = await states.of(type);
    const isUsed = header !== undefined && pending <= maxPending;
    if (header === undefined || pending > maxFresh) {
      noteStale?.({ project, type, isUnused: !isUsed || pending > urgent });
    }
    return isUsed ? SkipIndex.of(header, pending, scope, run, cache) : undefined;
  }

  /** The skip index of some layers. */
  static async of(
    header: SkipHeader,
    pending: number,
    scope: RowScope,
    run: Run,
    cache: SkipCache,
  ): Promise<SkipIndex> {
    const index = new SkipIndex(header, pending, scope, run, cache);
    await index.load(index.isLayered ? [{ sort: SETS, subject: IDS, value: REPLACED }] : []);
    return index;
  }

  /** True if it has more than one layer. */
  get isLayered(): boolean {
    return this.layers.length > 1;
  }

  /** The numbers of resources. */
  get all(): KeySet {
    return (this.#all ??= this.#rows.combined('all', () => {
      const all = this.emptySet();
      for (const { mark, first, size } of this.layers) {
        if (mark !== '') {
          const replaced = this.#rows.row({ sort: SETS, subject: IDS, value: mark + REPLACED });
          if (replaced !== ABSENT) all.subtract(widened(replaced as KeySet, this.size));
        }
        addNumbers(all, { first, size });
      }
      return all;
    }));
  }

  emptySet(): KeySet {
    return new KeySet(0, this.size);
  }

  /** The numbers of a layer, of which later layers may have replaced some. Must not be changed. */
  numbersIn(layer: SkipLayer): KeySet {
    return this.#rows.combined(`numbers ${layer.mark}`, () => addNumbers(this.emptySet(), layer));
  }

  /** Reads the rows of all layers that are not cached. */
  load(names: readonly RowName[]): Promise<void> {
    return this.#rows.load(this.isLayered ? names.flatMap(withWhole) : names);
  }

  /** The resources with a value; undefined if the index does not keep that set. Callers share the set and must not change it. */
  setOf(subject: number, value: string): KeySet | undefined {
    const oldest = this.#rows.row({ sort: SETS, subject, value });
    if (!this.isLayered) return oldest === ABSENT ? undefined : (oldest as KeySet);
    const inSystem = readInSystem(value);
    // A layer has the frequent codes and targets of the oldest one, and no others.
    if (oldest === ABSENT && inSystem === undefined && value !== PRESENCE && value !== SEVERAL) return undefined;
    return this.#rows.combined(`${subject} ${value}`, () => {
      const set = this.emptySet();
      for (const { mark, first } of this.layers) {
        const row = this.#rows.row({ sort: SETS, subject, value: mark + value });
        const all = row === ABSENT && inSystem ? this.#wholeOf(subject, inSystem, mark) : row;
        if (all !== ABSENT) set.words.set((all as KeySet).words, first >>> 5);
      }
      return set.intersect(this.all);
    });
  }

  /** The resources with a code or a value in a layer, if all its rows are of one system. */
  #wholeOf(subject: number, { system, code }: InSystem, mark: string): Kept {
    const systems = this.#rows.row({ sort: SETS, subject, value: mark + systemsName(code) });
    if (systems === ABSENT || !(systems as SystemsOf).same.includes(system)) return ABSENT;
    return this.#rows.row({ sort: SETS, subject, value: mark + wholeName(code) });
  }

  /** The systems of a code or of a parameter, by the name of their row; undefined if the index does not keep them. */
  systemsOf(subject: number, value: string): SystemsOf | undefined {
    const [oldest, ...later] = this.layers.map(({ mark }) => {
      const row = this.#rows.row({ sort: SETS, subject, value: mark + value });
      return row === ABSENT ? undefined : (row as SystemsOf);
    });
    return oldest && systemsOfLayers([oldest, ...later.filter((one) => one !== undefined)]);
  }

  /** Selects the keys of some numbers, except those of resources written since. */
  keysOf(numbers: readonly number[]): Sql {
    const keys = sql`SELECT k.key FROM (${this.keysWithNumbers(numbers)}) k`;
    if (this.pending === 0) return keys;
    return sql`${keys} WHERE k.key NOT IN (${this.written})`;
  }

  /** Selects some numbers `n` with their keys. */
  keysWithNumbers(numbers: readonly number[]): Sql {
    return sql`SELECT i.n, k.key FROM unnest(${arrayText(numbers)}::int[]) i(n) CROSS JOIN LATERAL (
      SELECT s.keys[i.n - s.first + 1] AS key FROM fhirgraph_skip_key s WHERE ${this.#of} AND s.first = i.n & ${-KEYS_IN_ROW}::int OFFSET 0) k`;
  }

  /** Maximum keys whose numbers the server looks up. PERF: it finds few keys faster, but not among layers. */
  get maxNumbered(): number {
    return this.isLayered ? 0 : SKIP_TUNING.maxNumbered;
  }

  /** Selects the numbers of the keys that the index has. Only for an index without layers. */
  numbersOf(keys: Sql): Sql {
    return sql`SELECT k.n FROM (${keys}) i(key) CROSS JOIN LATERAL (
      SELECT s.first + array_position(s.keys, i.key) - 1 AS n FROM fhirgraph_skip_key s
        WHERE s.project::text = ${uuidText(this.#scope.shard)} AND s.type = ${this.#scope.type} AND s.keys[1] <= i.key
        ORDER BY s.keys[1] DESC LIMIT 1) k WHERE k.n IS NOT NULL`;
  }

  /** The numbers of keys in each layer that has them. @param keys the bytes of the keys, one after the other */
  placesOf(keys: Buffer): Promise<readonly number[]> {
    return placesIn(this.layers, keys);
  }

  /** Some ascending numbers in the order of their keys. Load the keys first. */
  inKeyOrder(numbers: readonly number[]): readonly number[] {
    return (numbers.at(-1) ?? 0) < this.header.size ? numbers : inKeyOrder(this.layers, this.#keys!, numbers);
  }

  /** Loads keys for {@link inKeyOrder}. */
  async loadKeys(): Promise<void> {
    if (this.isLayered) this.#keys = await keysOfLayers(this.layers);
  }

  /** The references of a parameter, layer by layer. They include outdated ones of resources written since. */
  references(parameter: number): Promise<readonly StoredReferences[]> {
    return Promise.all(this.layers.map((layer) => layer.references(parameter)));
  }

  /** For each target of a layer's references, its number in the index of another type, or -1. */
  numbersOfTargets(parameter: number, layer: number, other: SkipIndex): Promise<Int32Array> {
    return this.layers[layer]!.numbersAmong(parameter, other.layers);
  }

  /** The numbers of the resources written since. A number may come several times, and a resource may have several. */
  writtenNumbers(): Promise<readonly number[]> {
    return (this.#written ??= this.#numbersOfWritten());
  }

  async #numbersOfWritten(): Promise<readonly number[]> {
    if (this.pending === 0) return [];
    if (this.pending <= this.maxNumbered) {
      const rows = await this.#run(this.numbersOf(sql`SELECT DISTINCT w.resource FROM (${this.written}) w`));
      return rows.map(([number]) => Number(number));
    }
    const bytes = sql`SELECT encode(string_agg(uuid_send(w.resource), ''), 'base64') FROM (${this.written}) w`;
    const [[text]] = (await this.#run(bytes)) as [[string]];
    return this.placesOf(Buffer.from(text, 'base64'));
  }

  /** Selects the keys of the resources written since. */
  get written(): Sql {
    return sql`SELECT s.resource FROM fhirgraph_skip_written s WHERE ${this.#of}`;
  }
}

function addNumbers(set: KeySet, { first, size }: Pick<SkipLayer, 'first' | 'size'>): KeySet {
  set.words.set(new KeySet(0, size).fill().words, first >>> 5);
  return set;
}

function widened({ words }: KeySet, size: number): KeySet {
  const set = new KeySet(0, size);
  set.words.set(words);
  return set;
}
