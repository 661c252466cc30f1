import type { SortKey } from '../../../search/criteria/criteria.js';
import { LARGEST, SMALLEST } from '../../sql/extremes.js';
import { tablesOf } from '../../sql/index-tables.js';
import type { RowScope } from '../../sql/rows.js';
import { isBefore } from '../../sql/pages/value-range.js';
import { Sql, sql, type SqlValue } from '../../sql/sql.js';
import { orderIndexOf } from '../pages/order-index.js';
import { countOfCollection } from '../shapes.js';
import type { Statements } from '../statements.js';
import { LAST_KEY } from '../versions.js';
import { zoneOfInstants } from '../zones.js';
import { granulesWhere } from './granules.js';
import {
  holdingText,
  PRESENCE,
  RANGES,
  type Ranges,
  SKIP_TUNING,
  type SkipOrder,
  type SkipRow,
  type SkipSizes,
} from './skip-row.js';
import { granuleOf } from './skip-search.js';

/**
 * The rows of the table `skip` for a type of a project, as of this transaction; none where it has few resources.
 *
 * Every index is read once, in its own order: about 5 µs per resource in all.
 *
 * @param check called between statements
 */
export function buildSkipRows(
  scope: RowScope,
  statements: Statements,
  sizes: SkipSizes,
  check: () => void,
): readonly SkipRow[] {
  return new SkipBuilder(scope, statements, sizes, check).rows();
}

/** The same for orders whose granules are known: what their rows should hold at least. */
export function rebuildSkipRows(
  scope: RowScope,
  statements: Statements,
  known: KnownOrders,
  check: () => void,
): readonly SkipRow[] {
  return new SkipBuilder(
    scope,
    statements,
    { ...SKIP_TUNING, granule: 0, minGranules: 0, minHolders: 1 },
    check,
    known,
  ).rows();
}

type KnownOrders = readonly { readonly order: number; readonly starts: readonly SqlValue[] }[];

/** An order, and the granules of its resources. */
interface Order {
  readonly number: number;
  readonly parameter: string;
  readonly starts: readonly SqlValue[];
  /** By resource. */
  readonly granules: Uint32Array;
  /** Of resources with several values, the granule of the largest one plus 1; else 0. Undefined: no resource has several. */
  readonly others: Uint32Array | undefined;
  /** Resources of each granule. */
  readonly totals: Uint32Array;
}

class SkipBuilder {
  readonly #scope: RowScope;
  readonly #collection: number;
  readonly #statements: Statements;
  readonly #sizes: SkipSizes;
  readonly #check: () => void;
  readonly #known: KnownOrders | undefined;
  readonly #rows: SkipRow[] = [];
  #first = 0;
  #count = 0;
  #orders: Order[] = [];

  constructor(scope: RowScope, statements: Statements, sizes: SkipSizes, check: () => void, known?: KnownOrders) {
    this.#sizes = sizes;
    this.#known = known;
    this.#scope = scope;
    this.#collection = scope.collection as number;
    this.#statements = statements;
    this.#check = check;
  }

  rows(): readonly SkipRow[] {
    const [count] = this.#statements.get(countOfCollection(this.#collection)) as [number];
    const isPending = this.#statements.read(HAS_WORK).get(this.#collection) !== undefined;
    if (isPending || count < this.#sizes.minGranules * this.#sizes.granule) return [];
    const [first, last] = this.#statements.read(RANGE_OF_KEYS).get(this.#collection) as [number, number];
    this.#first = first;
    this.#count = count;
    const codes = this.#statements.read(LIST_PARAMETERS).all(this.#collection) as [number, string][];
    const sorts = ['_id', '_lastUpdated', ...codes.map(([, code]) => code)];
    const size = last - first + 1;
    const perPass = Math.max(1, Math.floor(this.#sizes.maxPlaces / size));
    for (const code of sorts) {
      const order = this.#order(code, size);
      if (order !== undefined) this.#orders.push(order);
      if (this.#orders.length >= perPass) this.#addSubjects(codes);
    }
    if (this.#orders.length > 0) this.#addSubjects(codes);
    return this.#rows;
  }

  /** What the orders of this pass hold. */
  #addSubjects(codes: readonly (readonly [number, string])[]): void {
    this.#addOrders();
    this.#addPresence();
    for (const [number, code] of codes) this.#addValues(number, code);
    const updated = sql`resource x INDEXED BY resource_by_updated
      WHERE x.collection = ${this.#collection} AND x.content IS NOT NULL`;
    const columns = [sql`x.key`, sql`x.updated`, sql`x.updated`, sql`x.updated`] as const;
    this.#addRanges(zoneOfInstants(this.#collection), updated, columns);
    this.#orders = [];
  }

  #order(parameter: string, size: number): Order | undefined {
    const key: SortKey = { parameter, descending: false };
    const index = orderIndexOf(key, this.#scope);
    if (index?.skip === undefined) return undefined;
    const known = this.#known?.find(({ order }) => order === index.skip)?.starts;
    if (this.#known !== undefined && known === undefined) return undefined;
    const { granule, minGranules } = this.#sizes;
    const inOrder = sql`FROM ${index.from} WHERE ${index.where} ORDER BY ${index.value}`;
    const keys = this.#column(sql`SELECT ${index.key} ${inOrder}`) as readonly number[];
    if (known === undefined && keys.length < granule * minGranules) return undefined;
    const values = this.#column(sql`SELECT ${index.value} ${inOrder}`);
    const starts = known ?? startsOf(values, granule);
    // Each code is a part of its own, however few there are.
    if (starts.length < (index.codesOf === undefined ? minGranules : 2)) return undefined;
    const totals = new Uint32Array(starts.length + 1);
    totals[starts.length] = Math.max(0, this.#count - keys.length);
    const granules = new Uint32Array(size).fill(starts.length);
    let number = 0;
    values.forEach((value, place) => {
      while (number + 1 < starts.length && !isBefore(value, starts[number + 1]!)) number++;
      granules[keys[place]! - this.#first] = number;
      totals[number]! += 1;
    });
    const others = index.missing === undefined ? undefined : this.#othersOf(parameter, starts, size, totals);
    return { number: index.skip, parameter, starts, granules, others, totals };
  }

  /** A resource with several values has another place in the descending order. */
  #othersOf(
    parameter: string,
    starts: readonly SqlValue[],
    size: number,
    totals: Uint32Array,
  ): Uint32Array | undefined {
    const { from, where, key, value } = orderIndexOf({ parameter, descending: true }, this.#scope)!;
    const largest = sql`FROM ${from} WHERE ${where} AND w.extreme & ${SMALLEST | LARGEST} = ${LARGEST}`;
    const keys = this.#column(sql`SELECT ${key} ${largest}`) as readonly number[];
    if (keys.length === 0) return undefined;
    const values = this.#column(sql`SELECT ${value} ${largest}`);
    const others = new Uint32Array(size);
    keys.forEach((resource, place) => {
      const granule = granuleOf(starts, values[place]!);
      others[resource - this.#first] = granule + 1;
      totals[granule]! += 1;
    });
    return others;
  }

  #addOrders(): void {
    const [epoch] = this.#statements.read(READ_EPOCH).get() as [string | null];
    const [lastVersion] = this.#statements.read(LAST_KEY).get() as [number];
    for (const { number, parameter, starts } of this.#orders) {
      const order: SkipOrder = { epoch, lastVersion, parameter, starts };
      this.#rows.push({ order: number, subject: 0, value: 0, data: JSON.stringify(order) });
    }
  }

  /** Resources of one shape have values of the same parameters. */
  #addPresence(): void {
    const shapes = this.#statements.read(LIST_SHAPES).all(this.#collection) as [number, string][];
    const counts = this.#orders.map(() => new Map<number, Uint32Array>());
    for (const [shape, text] of shapes) {
      const parameters = (JSON.parse(text) as number[]).map(Math.abs);
      const keys = this.#column(
        sql`SELECT y.key FROM resource y INDEXED BY resource_by_shape WHERE y.shape = ${shape}`,
      );
      this.#orders.forEach((order, index) => {
        const ofShape = this.#countIn(order, keys as readonly number[]);
        for (const parameter of parameters) {
          const all = counts[index]!.get(parameter);
          if (all === undefined) counts[index]!.set(parameter, ofShape.slice());
          else ofShape.forEach((count, granule) => (all[granule]! += count));
        }
      });
    }
    this.#orders.forEach((order, index) => {
      for (const [parameter, all] of counts[index]!) this.#addHolding(order, parameter, PRESENCE, all);
    });
  }

  #addValues(parameter: number, code: string): void {
    const [table] = tablesOf(this.#scope.dialect.model, this.#scope.type, code);
    if (code.includes('$') || code.includes('#')) return;
    if (table === 'token') {
      // See extremes.ts for the bits.
      const rows = sql`token x INDEXED BY token_by_value
        WHERE x.parameter = ${parameter} AND x.grp = 0 AND x.extreme & 5 <> 0`;
      this.#addPoints(parameter, sql`x.code`, rows);
    } else if (table === 'reference') {
      const rows = sql`reference x INDEXED BY reference_by_value WHERE x.parameter = ${parameter} AND x.grp = 0`;
      this.#addPoints(parameter, sql`x.target`, rows);
    } else if (table === 'date' || table === 'quantity') {
      const index = new Sql(`${table}_by_value`, []);
      const rows = sql`${new Sql(table, [])} x INDEXED BY ${index} WHERE x.parameter = ${parameter} AND x.grp = 0`;
      this.#addRanges(parameter, rows, [sql`x.resource`, sql`x.low`, sql`x.low`, sql`x.high`]);
    }
  }

  /** The codes or targets of many resources. */
  #addPoints(parameter: number, value: Sql, from: Sql): void {
    const frequent = this.#column(
      sql`SELECT ${value} FROM ${from} AND ${value} IS NOT NULL GROUP BY ${value} HAVING count(*) >= ${this.#sizes.minHolders}`,
    );
    for (const one of frequent) {
      const keys = this.#column(sql`SELECT x.resource FROM ${from} AND ${value} = ${one}`) as readonly number[];
      for (const order of this.#orders) this.#addHolding(order, parameter, one!, this.#countIn(order, keys));
    }
  }

  /** How many of the resources each granule has. @param keys in ascending order, maybe repeated */
  #countIn({ granules, others, totals }: Order, keys: readonly number[]): Uint32Array {
    const counts = new Uint32Array(totals.length);
    let previous = 0;
    for (const key of keys) {
      if (key === previous) continue;
      previous = key;
      counts[granules[key - this.#first]!]! += 1;
      const other = others === undefined ? 0 : others[key - this.#first]!;
      if (other > 0) counts[other - 1]! += 1;
    }
    return counts;
  }

  #addHolding({ number, totals }: Order, subject: number, value: string | number, counts: Uint32Array): void {
    const some = granulesWhere(totals.length, (granule) => counts[granule]! > 0);
    const lacking = granulesWhere(totals.length, (granule) => counts[granule]! < totals[granule]!);
    this.#rows.push({ order: number, subject, value, data: holdingText({ some, lacking }) });
  }

  /** @param columns resource, low, low, high */
  #addRanges(subject: number, from: Sql, columns: readonly [Sql, Sql, Sql, Sql]): void {
    // PERF: a column at a time takes a third of the time of rows. They come in the order of one index.
    const [keys, lows, , highs] = columns.map((column) =>
      this.#column(sql`SELECT ${column} FROM ${from}`),
    ) as readonly (readonly number[])[];
    for (const { number, totals, granules, others } of this.#orders) {
      const ranges: Ranges = [fill(totals), fill(totals), fill(totals)];
      const [low, last, high] = ranges as unknown as (number | null)[][];
      const add = (granule: number, row: number): void => {
        const value = lows![row]!;
        if (low![granule] === null || value < low![granule]!) low![granule] = value;
        if (last![granule] === null || value > last![granule]!) last![granule] = value;
        if (high![granule] === null || highs![row]! > high![granule]!) high![granule] = highs![row]!;
      };
      keys!.forEach((key, row) => {
        add(granules[key - this.#first]!, row);
        const other = others === undefined ? 0 : others[key - this.#first]!;
        if (other > 0) add(other - 1, row);
      });
      this.#rows.push({ order: number, subject, value: RANGES, data: JSON.stringify(ranges) });
    }
  }

  #column(query: Sql): readonly SqlValue[] {
    this.#check();
    return this.#statements.column(query);
  }
}

function fill({ length }: Uint32Array): null[] {
  return new Array<null>(length).fill(null);
}

/** The first values of granules: each begins with another value than the last one ends with. */
function startsOf(values: readonly SqlValue[], granule: number): readonly SqlValue[] {
  const starts: SqlValue[] = [];
  let next = 0;
  values.forEach((value, place) => {
    if (place < next || (place > 0 && value === values[place - 1])) return;
    starts.push(value);
    next = place + granule;
  });
  return starts;
}

const HAS_WORK = 'SELECT 1 FROM index_work WHERE collection = ?';
const READ_EPOCH = "SELECT (SELECT value FROM meta WHERE name = 'index_epoch')";
const RANGE_OF_KEYS = 'SELECT min(key), max(key) FROM resource WHERE collection = ?';
const LIST_PARAMETERS = 'SELECT key, code FROM parameter WHERE collection = ? ORDER BY key';
const LIST_SHAPES = 'SELECT key, parameters FROM shape WHERE collection = ? AND resources > 0';
