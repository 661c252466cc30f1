import { randomId } from '../../../../platform/node-crypto.js';
import { LARGEST, SMALLEST } from '../../../sql/extremes.js';
import { holdsIntervals, tablesOf, type ValueTable } from '../../../sql/index-tables.js';
import type { RowScope } from '../../../sql/rows.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import { orderIndexOf } from '../../scans/order-index.js';
import type { Statements } from '../../database/statements.js';
import { LAST_KEY } from '../../rows/versions.js';
import { setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { keptUnits } from '../../../sql/skip/unit-sets.js';
import { rangeOfKeys } from '../read/few-resources.js';
import { hasIndexWork } from '../read/skip-header.js';
import { granuleRows } from './granule-rows.js';
import { frequentValues } from './frequent-values.js';
import { granulesOf } from './granules.js';
import type { KnownRows } from './known-rows.js';
import { longEnds } from './long-ends.js';
import { ReferenceOrders, readStoredReferences } from '../read/reference-order.js';
import { referenceRows } from '../read/reference-rows.js';
import {
  BY_END,
  BY_LARGEST,
  BY_SMALLEST,
  EVERYTHING,
  FORMAT,
  GROUPS,
  HEADER,
  SETS,
  SEVERAL,
  SKIP_TUNING,
  type SkipHeader,
  type SkipOrder,
  type SkipRow,
  type SkipSizes,
  orderOfIds,
} from '../../rows/skip-row.js';
import { presenceSets } from './presence-sets.js';
import { isOfReferences } from '../read/skip-order.js';
import { systemRows } from './system-rows.js';
import { resourcesByUnit } from './unit-sets.js';
import { madeGroups } from './value-groups.js';

/**
 * Builds the rows of the table `skip` for a type of a project, as of this transaction; none if it has few resources.
 *
 * Every index is read once, in its own order: some microseconds per resource in all.
 *
 * @param check called between statements
 * @param known the sets and granules to rebuild; undefined: choose them by their frequency
 */
export function* buildSkipRows(
  scope: RowScope,
  statements: Statements,
  sizes: SkipSizes,
  check: () => void,
  known?: KnownRows,
): Generator<SkipRow> {
  const builder = new SkipBuilder(scope, statements, sizes, check, known);
  if (builder.isWorth()) yield* builder.rows();
}

class SkipBuilder {
  readonly #scope: RowScope;
  readonly #collection: number;
  readonly #statements: Statements;
  readonly #sizes: SkipSizes;
  readonly #check: () => void;
  readonly #known: KnownRows | undefined;
  /** The id of the header. */
  readonly #id = randomId();
  readonly #unitNames: { [parameter: string]: readonly string[] } = {};
  #all = new KeySet(0, 0);

  constructor(
    scope: RowScope,
    statements: Statements,
    sizes: SkipSizes,
    check: () => void,
    known: KnownRows | undefined,
  ) {
    this.#sizes = sizes;
    this.#known = known;
    this.#scope = scope;
    this.#collection = scope.collection as number;
    this.#statements = statements;
    this.#check = check;
  }

  /** Reads the keys of the type. @returns false if they are few, far apart or not indexed yet */
  isWorth(): boolean {
    if (hasIndexWork(this.#collection, this.#statements)) return false;
    const keys = this.#column(sql`SELECT y.key FROM resource y INDEXED BY resource_by_updated
      WHERE y.collection = ${this.#collection} AND y.content IS NOT NULL`) as readonly number[];
    if (keys.length === 0 || keys.length < this.#sizes.minGranules * this.#sizes.granule) return false;
    const own = rangeOfKeys(keys);
    if (own.size > SKIP_TUNING.maxSpread) return false;
    const { first, size } = this.#known?.range ?? own;
    this.#all = new KeySet(first, size);
    for (const key of keys) this.#all.add(key);
    return true;
  }

  *rows(): Generator<SkipRow> {
    const ids = orderOfIds(this.#collection);
    // In the form of a set: the form ALL would refer to this row itself.
    const everything = setBytes(this.#all, new KeySet(this.#all.first, this.#all.size));
    yield { sort: SETS, subject: ids, value: EVERYTHING, data: everything };
    const parameters = this.#statements.read(LIST_PARAMETERS).all(this.#collection) as [number, string][];
    const codes = parameters.filter(([, code]) => !code.includes('$') && !code.includes('#'));
    for (const code of ['_id', '_lastUpdated', ...codes.map((one) => one[1])]) yield* this.#order(code);
    for (const [number, code] of codes) {
      if (isOfReferences(code, this.#scope)) yield* this.#references(number, code);
      else yield* this.#ends(number, code);
    }
    yield* this.#presence(codes);
    for (const [number, code] of codes) yield* this.#values(number, code);
    yield* this.#groups();
    yield { sort: SETS, subject: ids, value: HEADER, data: JSON.stringify(this.#header()) };
  }

  #header(): SkipHeader {
    const [epoch] = this.#statements.read(READ_EPOCH).get() as [string | null];
    const [lastVersion] = this.#statements.read(LAST_KEY).get() as [number];
    const { first, size, count } = this.#all;
    return {
      format: FORMAT,
      id: this.#id,
      epoch,
      lastVersion,
      first,
      size,
      count,
      built: count,
      units: this.#unitNames,
    };
  }

  *#order(parameter: string): Generator<SkipRow> {
    const index = orderIndexOf({ parameter, descending: false }, this.#scope);
    if (index?.skip === undefined) return;
    const several = index.missing !== undefined && this.#severalOf(parameter, 1).length > 0;
    const rows = (subject: typeof BY_SMALLEST | typeof BY_LARGEST): Iterable<SkipRow> =>
      this.#granules(index.skip!, subject, { parameter, several }, this.#inOrder(parameter, subject === BY_LARGEST));
    yield* rows(BY_SMALLEST);
    if (several) yield* rows(BY_LARGEST);
  }

  *#ends(number: number, parameter: string): Generator<SkipRow> {
    const rows = longEnds(this.#tableOf(parameter), number, (query) => this.#column(query));
    yield* this.#granules(number, BY_END, { parameter, several: false }, rows);
  }

  /** The references of each resource, and the order by them. */
  *#references(number: number, parameter: string): Generator<SkipRow> {
    const column = (query: Sql): readonly SqlValue[] => this.#column(query);
    const stored = readStoredReferences(number, column);
    yield* referenceRows(number, this.#all, stored.sources, stored.targets) ?? [];
    const orders = new ReferenceOrders(number, this.#scope, this.#all, stored, column);
    const { several } = orders;
    for (const subject of several ? ([BY_SMALLEST, BY_LARGEST] as const) : ([BY_SMALLEST] as const)) {
      const { keys, values } = orders.order(subject === BY_LARGEST);
      yield* this.#granules(number, subject, { parameter, several }, [keys, values]);
    }
  }

  /** The resources with a value, and their values. The index of ids also has deleted resources. */
  #inOrder(parameter: string, descending: boolean): readonly [readonly number[], readonly SqlValue[]] {
    const index = orderIndexOf({ parameter, descending }, this.#scope)!;
    const rows = sql`FROM ${index.from} WHERE ${index.where} ORDER BY ${index.value}`;
    // PERF: a column at a time takes a third of the time of rows.
    const keys = this.#column(sql`SELECT ${index.key} ${rows}`) as readonly number[];
    const values = this.#column(sql`SELECT ${index.value} ${rows}`);
    if (parameter !== '_id') return [keys, values];
    const isCurrent = (place: number): boolean => this.#all.has(keys[place]!);
    return [keys.filter((_, place) => isCurrent(place)), values.filter((_, place) => isCurrent(place))];
  }

  /** Resources whose largest and smallest value differ. */
  #severalOf(parameter: string, limit: number): readonly SqlValue[] {
    const { from, where, key } = orderIndexOf({ parameter, descending: true }, this.#scope)!;
    return this.#column(
      sql`SELECT ${key} FROM ${from} WHERE ${where} AND w.extreme & ${SMALLEST | LARGEST} = ${LARGEST} LIMIT ${limit}`,
    );
  }

  *#groups(): Generator<SkipRow> {
    const source = { scope: this.#scope, statements: this.#statements, sizes: this.#sizes, check: this.#check };
    for (const { sort, subject, parameter, groups, rows } of madeGroups(source, this.#known)) {
      yield { sort, subject: GROUPS, value: groups.code, data: String(subject) };
      yield* this.#granules(sort, subject, { parameter, several: true, groups }, rows);
    }
  }

  *#granules(
    sort: number,
    subject: number,
    { parameter, several, groups }: Pick<SkipOrder, 'parameter' | 'several' | 'groups'>,
    [keys, values]: readonly [readonly number[], readonly SqlValue[]],
  ): Generator<SkipRow> {
    const { granule, minGranules } = this.#sizes;
    const known = this.#known?.granules(sort, subject);
    // Fewer values are quicker to read and sort. Long intervals are looked up in addition to the granules by their
    // start.
    const least = granule * (subject === BY_END ? minGranules : 1);
    if (this.#known !== undefined ? known === undefined : keys.length < least) return;
    const { starts, ties, of = this.#id } = known ?? granulesOf(values, granule);
    const isByEnd = subject === BY_END;
    const order: SkipOrder = { parameter, starts, ties, several, ...(isByEnd && { of }), ...(groups && { groups }) };
    yield* granuleRows(sort, subject, order, [keys, values], this.#all);
  }

  *#presence(parameters: readonly (readonly [number: number, code: string])[]): Generator<SkipRow> {
    const shapes = this.#statements.read(LIST_SHAPES).all(this.#collection) as [number, string][];
    const column = (query: Sql): readonly SqlValue[] => this.#column(query);
    for (const [subject, value, set] of presenceSets(this.#scope, parameters, shapes, column, this.#all)) {
      yield this.#set(subject, value, set);
    }
  }

  *#values(parameter: number, code: string): Generator<SkipRow> {
    const table = this.#tableOf(code);
    if (table === 'token') yield* this.#codes(parameter);
    else if (table === 'reference') {
      const rows = sql`reference x INDEXED BY reference_by_value WHERE x.parameter = ${parameter} AND x.grp = 0`;
      const holders = (target: SqlValue): Sql => sql`${rows} AND x.target = ${target}`;
      for (const target of this.#frequent(parameter, sql`x.target`, rows)) {
        yield this.#set(parameter, target, this.#holders(holders(target)));
      }
    } else if (holdsIntervals(table)) {
      yield this.#set(parameter, SEVERAL, this.#setOf(this.#severalOf(code, -1)));
      if (table === 'quantity') yield* this.#units(parameter);
    }
  }

  /** The codes that many resources have, and the systems of these codes and of all values. */
  *#codes(parameter: number): Generator<SkipRow> {
    const rows = sql`token x INDEXED BY token_by_value WHERE x.parameter = ${parameter} AND x.grp = 0`;
    yield* this.#systems(parameter, undefined, rows);
    // See extremes.ts for the bits.
    for (const code of this.#frequent(parameter, sql`x.code`, sql`${rows} AND x.extreme & 5 <> 0`)) {
      const holders = sql`${rows} AND x.code = ${code}`;
      yield this.#set(parameter, code, this.#holders(holders));
      yield* this.#systems(parameter, code as string, holders);
    }
  }

  #systems(parameter: number, code: string | undefined, from: Sql): Iterable<SkipRow> {
    const known = this.#known?.systems(parameter, code);
    if (this.#known !== undefined && known === undefined) return [];
    return systemRows({ parameter, code, from }, (query) => this.#column(query), this.#all, known);
  }

  /** The codes or targets that many resources have. */
  #frequent(parameter: number, value: Sql, from: Sql): readonly (string | number)[] {
    const values = this.#known?.values(parameter) ?? this.#column(frequentValues(value, from, this.#sizes));
    return values as readonly (string | number)[];
  }

  #holders(rows: Sql): KeySet {
    return this.#setOf(this.#column(sql`SELECT x.resource FROM ${rows}`));
  }

  *#units(parameter: number): Generator<SkipRow> {
    const rows = sql`FROM quantity x INDEXED BY quantity_by_value
      WHERE x.parameter = ${parameter} AND x.grp = 0 ORDER BY x.low, x.high, x.resource`;
    const known = this.#known?.values(parameter).map(String);
    const column = (query: Sql): readonly SqlValue[] => this.#column(query);
    const found = resourcesByUnit(rows, column, known === undefined ? keptUnits : () => known);
    this.#unitNames[parameter] = known ?? [...found.keys()];
    for (const value of this.#unitNames[parameter])
      yield this.#set(parameter, value, this.#setOf(found.get(value) ?? []));
  }

  #tableOf(parameter: string): ValueTable | undefined {
    return tablesOf(this.#scope.dialect.model, this.#scope.type, parameter)[0];
  }

  #setOf(keys: readonly SqlValue[]): KeySet {
    const set = new KeySet(this.#all.first, this.#all.size);
    for (const key of keys) set.add(key as number);
    return set;
  }

  #set(subject: number, value: string | number, set: KeySet): SkipRow {
    return { sort: SETS, subject, value, data: setBytes(set, this.#all) };
  }

  #column(query: Sql): readonly SqlValue[] {
    this.#check();
    return this.#statements.column(query);
  }
}

const READ_EPOCH = "SELECT (SELECT value FROM meta WHERE name = 'index_epoch')";
const LIST_PARAMETERS = 'SELECT key, code FROM parameter WHERE collection = ? ORDER BY key';
const LIST_SHAPES = 'SELECT key, parameters FROM shape WHERE collection = ? AND resources > 0';
