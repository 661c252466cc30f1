import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import { beyond, orderBy, orderTerms } from '../../sql/order.js';
import { inTime, isCurrent, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, FALSE, list, Sql, sql, type SqlValue, TRUE } from '../../sql/sql.js';
import type { Guard } from '../guard.js';
import type { Statements } from '../statements.js';
import type { Condition } from './condition.js';
import { compareRows, type FoundRow } from './found-row.js';
import { type OrderIndex, orderIndexOf } from './order-index.js';
import { shortestUnder } from './probe.js';
import { TUNING } from './tuning.js';
import { isBefore } from './value-range.js';
import { type Bounds, boundsOf, isWithin } from './walk-bounds.js';

/** Matches, and between them how many rows were looked at since the last word. */
type Finding = Generator<number, readonly FoundRow[]>;

/** A place in the order, from some key of the sort on. */
interface Place {
  readonly values: SearchPosition['values'];
  readonly id: string;
}

/**
 * Finds one page of a search.
 *
 * There are two ways, and which one is short depends on the data:
 *
 * - **collect**: take what the narrowest condition finds, test the rest, sort. It costs what that condition finds.
 * - **walk**: read the index of the first sort key in its order and test each row until the page is full. It costs the rows
 *   up to there. Where many rows have the same value, they are a page of their own, in the order of the next key; the ids
 *   are the last key.
 *
 * Neither is guessed: both are tried in turn, each a little further than the other before, until one ends. So a page costs
 * a few times what the shorter way would have cost alone. Every statement looks at a few thousand rows at most, but for
 * those that collect.
 */
export class PageFinder {
  readonly #statements: Statements;
  readonly #guard: Guard;
  readonly #scope: RowScope;
  readonly #keys: readonly SortKey[];
  /** The indexes of the sort values in a position. */
  readonly #positions: readonly number[];
  readonly #backwards: boolean;
  #looked = 0;

  /** @param backwards the page is found from its end */
  constructor(statements: Statements, guard: Guard, scope: RowScope, sort: readonly SortKey[], backwards: boolean) {
    const id = sort.findIndex(({ parameter }) => parameter === '_id');
    // Nothing after the id can still decide.
    const keys = id < 0 ? [...sort, BY_ID] : sort.slice(0, id + 1);
    // Nor can a key that no resource has a value of.
    const deciding = [...keys.entries()].filter(([, key]) => hasValues(key, scope));
    this.#statements = statements;
    this.#guard = guard;
    this.#scope = scope;
    this.#keys = deciding.map(([, key]) => key);
    this.#positions = deciding.map(([position]) => position);
    this.#backwards = backwards;
  }

  /** The first matches after a position, or (backwards) the last before it, from there on. */
  find(conditions: readonly Condition[], need: number, position: SearchPosition | undefined): readonly FoundRow[] {
    if (position?.values.some((value, index) => value !== null && this.#isDropped(index)) === true) {
      // No resource has a value, and the position has: it comes before all.
      return this.#backwards ? [] : this.find(conditions, need, undefined);
    }
    const finding = this.#find(0, conditions, need, position && this.#placeOf(position));
    for (;;) {
      const step = finding.next();
      if (step.done === true) return step.value;
      this.#looked += step.value;
      this.#guard.check();
    }
  }

  /** Rows of indexes and scans that were looked at, more or less. */
  get looked(): number {
    return this.#looked;
  }

  #isDropped(index: number): boolean {
    return index < (this.#positions.at(-1) ?? 0) && !this.#positions.includes(index);
  }

  /** The statements of both ways: one that collects, and one stretch of a walk. For people. */
  statements(conditions: readonly Condition[], need: number, position: SearchPosition | undefined): readonly Sql[] {
    const place = position && this.#placeOf(position);
    const scans = conditions.filter(({ scan }) => scan !== undefined);
    const start = shortestUnder(MANY, scans, this.#statements)?.condition ?? scans[0];
    const collect = this.#collection(0, conditions, start, need, place);
    const [key] = this.#keys as readonly [SortKey];
    const index = orderIndexOf(key, this.#scope);
    if (index === undefined) return [collect];
    const bounds = boundsOf(key, index, conditions, this.#scope, this.#statements);
    const stretch = this.#stretch(key, index, bounds, place?.values[0] ?? undefined);
    const walk = this.#inStretch(0, index, stretch, conditions, undefined);
    return start === undefined ? [walk] : [collect, walk];
  }

  /** The id is a key like the others, whether or not it was asked for. */
  #placeOf({ values, id }: SearchPosition): Place {
    return { values: this.#positions.map((index) => (index < values.length ? values[index]! : id)), id };
  }

  /** From one key of the sort on, among what meets the conditions. */
  *#find(level: number, conditions: readonly Condition[], need: number, place: Place | undefined): Finding {
    if (need <= 0 || conditions.some(({ test }) => test === FALSE)) return [];
    const walk = this.#walk(level, conditions, need, place);
    const scans = conditions.filter(({ scan }) => scan !== undefined);
    const direct = scans.filter((one) => one.direct === true);
    let walked = 0;
    for (const look of TUNING.looks) {
      const isLast = look === Infinity;
      const shortest = isLast
        ? undefined
        : shortestUnder(look, look < TUNING.indirectFrom ? direct : scans, this.#statements);
      if (shortest !== undefined || (isLast && walk === undefined)) {
        yield shortest?.rows ?? 0;
        return this.#collect(level, conditions, shortest?.condition ?? scans[0], need, place);
      }
      while (walk !== undefined && walked < look * TUNING.walkedPerScanned) {
        const step = walk.next();
        if (step.done === true) return step.value;
        walked += step.value;
        yield step.value;
      }
    }
    throw new Error('A walk ends');
  }

  /** @param start its scan is where rows come from; undefined: all of the type */
  #collect(
    level: number,
    conditions: readonly Condition[],
    start: Condition | undefined,
    need: number,
    place: Place | undefined,
  ): readonly FoundRow[] {
    const statement = this.#collection(level, conditions, start, need, place);
    return this.#statements.all(statement).map(foundRow);
  }

  #collection(
    level: number,
    conditions: readonly Condition[],
    start: Condition | undefined,
    need: number,
    place: Place | undefined,
  ): Sql {
    const terms = orderTerms(this.#keys.slice(level), this.#scope);
    const from = start === undefined ? isCurrent(this.#scope) : sql`r0.key IN (${start.scan!})`;
    const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
    const matching = sql`FROM resource r0 WHERE ${allOf([from, inTime(sql`r0.key`, this.#scope), ...tests])}`;
    const named = terms.map((term, index) => ({ ...term, value: new Sql(`k${index}`, []) }));
    const values = list(terms.map(({ value }, index) => sql`${value} AS ${named[index]!.value}`));
    const rows = sql`SELECT r0.content AS content, r0.id AS id, ${values} ${matching}`;
    const order = sql`ORDER BY ${orderBy(named, ID, this.#backwards)} LIMIT ${need === Infinity ? -1 : need}`;
    if (place === undefined) return sql`${rows} ${order}`;
    // PERF: an inner LIMIT keeps the database from recomputing the order values at each comparison.
    const where = beyond(named, ID, { position: place, before: this.#backwards });
    return sql`SELECT content, id, ${list(named.map(({ value }) => value))} FROM (${rows} LIMIT -1) s WHERE ${where} ${order}`;
  }

  /** Undefined where no index has the order. */
  #walk(level: number, conditions: readonly Condition[], need: number, place: Place | undefined): Finding | undefined {
    const key = this.#keys[level]!;
    const index = orderIndexOf(key, this.#scope);
    return index === undefined || need === Infinity ? undefined : this.#parts(level, index, conditions, need, place);
  }

  /** What lies before the range, the range, what lies after it, what has no value: in this order, or the other way round. */
  *#parts(
    level: number,
    index: OrderIndex,
    conditions: readonly Condition[],
    need: number,
    place: Place | undefined,
  ): Finding {
    const key = this.#keys[level]!;
    const bounds = boundsOf(key, index, conditions, this.#scope, this.#statements);
    const { missing } = index;
    const parts: ((need: number) => Finding)[] = [];
    const { before, after } = bounds;
    if (before !== undefined) parts.push((left) => this.#outside(level, conditions, before, left, place));
    if (bounds.empty !== true) parts.push((left) => this.#range(level, index, bounds, conditions, left, place));
    if (after !== undefined) parts.push((left) => this.#outside(level, conditions, after, left, place));
    if (missing !== undefined && !bounds.valued) {
      const condition = { ...missing, direct: true };
      parts.push((left) => this.#group(level, null, condition, conditions, left, place));
    }
    if (this.#backwards) parts.reverse();
    const found: FoundRow[] = [];
    for (const part of parts) {
      if (found.length < need) found.push(...(yield* part(need - found.length)));
    }
    return found;
  }

  *#outside(
    level: number,
    conditions: readonly Condition[],
    outside: Condition,
    need: number,
    place: Place | undefined,
  ): Finding {
    // Its test says more than its scan.
    const conditionsOutside = [...conditions, { test: outside.test }];
    yield TUNING.firstChunk;
    return this.#collect(level, conditionsOutside, outside, need, place);
  }

  /** Resources with one value, in the order of the next key. */
  *#group(
    level: number,
    value: SqlValue,
    condition: Condition,
    conditions: readonly Condition[],
    need: number,
    place: Place | undefined,
  ): Finding {
    const isHere = place !== undefined && place.values[0] === value;
    if (place !== undefined && !isHere && (value === null) === this.#backwards) return [];
    const rest = isHere ? { values: place.values.slice(1), id: place.id } : undefined;
    const rows = yield* this.#find(level + 1, [...conditions, condition], need, rest);
    return rows.map((row) => ({ ...row, values: [value, ...row.values] }));
  }

  *#range(
    level: number,
    index: OrderIndex,
    bounds: Bounds,
    conditions: readonly Condition[],
    need: number,
    place: Place | undefined,
  ): Finding {
    const key = this.#keys[level]!;
    const compare = compareRows(
      this.#keys.slice(level).map(({ descending }) => descending),
      this.#backwards,
    );
    const found: FoundRow[] = [];
    const at = place?.values[0];
    if (at === null && !this.#backwards) return [];
    if (at !== undefined && at !== null && !index.unique && isWithin(at, bounds)) {
      const condition = this.#isValue(index, at);
      found.push(...(yield* this.#group(level, at, condition, conditions, need, place)));
    }
    let stretch = this.#stretch(key, index, bounds, at ?? undefined);
    let pending: FoundRow[] = [];
    let lastValue: SqlValue | undefined;
    for (let size = Math.min(need - found.length + TUNING.firstChunk, TUNING.maxChunk); found.length < need;) {
      const { rows, last, looked } = this.#chunk(level, index, stretch, conditions, size);
      yield looked;
      for (const row of rows) pending.push(row);
      if (last === undefined) {
        found.push(...pending.sort(compare));
        break;
      }
      const [value] = last;
      const isOpen = ({ values }: FoundRow): boolean => !index.unique && values[0] === value;
      for (const row of pending.filter((one) => !isOpen(one)).sort(compare)) found.push(row);
      pending = pending.filter(isOpen);
      if (found.length >= need) break;
      if (value === lastValue) {
        // All of the last stretch had this value, and there are more.
        pending = [];
        const condition = this.#isValue(index, value!);
        found.push(...(yield* this.#group(level, value!, condition, conditions, need - found.length, undefined)));
        stretch = { ...stretch, start: beyondValue(index, value!, stretch.falling) };
        lastValue = undefined;
      } else {
        stretch = { ...stretch, start: beyondRow(index, last, stretch.falling, false) };
        if (!index.unique) lastValue = value;
      }
      size = Math.min(size * 2, TUNING.maxChunk);
    }
    return found.length > need ? found.slice(0, need) : found;
  }

  /** The range to walk. @param at the sort value of the position, if it has one */
  #stretch({ descending }: SortKey, index: OrderIndex, { low, high }: Bounds, at: SqlValue | undefined): Stretch {
    const falling = descending !== this.#backwards;
    const [from, to] = falling ? [high, low] : [low, high];
    const start = from === undefined ? TRUE : sql`${index.value} ${falling ? sql`<=` : sql`>=`} ${from}`;
    const end = to === undefined ? TRUE : sql`${index.value} ${falling ? sql`>=` : sql`<=`} ${to}`;
    if (at === undefined || (from !== undefined && (falling ? isBefore(from, at) : isBefore(at, from)))) {
      return { start, end, falling };
    }
    return { start: beyondValue(index, at, falling), end, falling };
  }

  #isValue(index: OrderIndex, value: SqlValue): Condition {
    return {
      test: index.isValue(value),
      scan: sql`SELECT ${index.key} FROM ${index.from} WHERE ${allOf([index.where, sql`${index.value} = ${value}`, inTime(index.key, this.#scope)])}`,
      direct: true,
    };
  }

  /** The matches among the next rows of an index, and where these end; undefined: with the range. */
  #chunk(
    level: number,
    index: OrderIndex,
    stretch: Stretch,
    conditions: readonly Condition[],
    size: number,
  ): { readonly rows: readonly FoundRow[]; readonly last: readonly SqlValue[] | undefined; readonly looked: number } {
    const last = this.#statements.get(endOfStretch(index, stretch, size));
    const rows = this.#statements.all(this.#inStretch(level, index, stretch, conditions, last));
    return { rows: rows.map(foundRow), last, looked: size };
  }

  /** In no order. @param last where the rows end; undefined: with the stretch */
  #inStretch(
    level: number,
    index: OrderIndex,
    { start, end, falling }: Stretch,
    conditions: readonly Condition[],
    last: readonly SqlValue[] | undefined,
  ): Sql {
    // PERF: of two upper ends SQLite may take the farther one for its range.
    const upTo = last === undefined ? end : beyondRow(index, last, !falling, true);
    const tests = allOf([inTime(sql`r0.key`, this.#scope), ...conditions.map(({ test }) => test)]);
    const where = allOf([index.where, start, upTo]);
    if (LOOKS_AT_ROW.test(tests.text)) {
      const columns = list([sql`r0.content`, sql`r0.id`, index.value, ...this.#later(level, this.#scope)]);
      return sql`SELECT ${columns} FROM ${index.from} CROSS JOIN resource r0 ON r0.key = ${index.key}
        WHERE ${allOf([where, sql`r0.content IS NOT NULL`, tests])}`;
    }
    // PERF: what needs the key alone is tested before the resource is looked up.
    const scope = { ...this.#scope, row: sql`m` };
    const columns = list([sql`m.content`, sql`m.id`, sql`r0.value`, ...this.#later(level, scope)]);
    const rows = sql`SELECT ${index.key} AS key, ${index.value} AS value FROM ${index.from} WHERE ${where}`;
    return sql`SELECT ${columns} FROM (${rows}) r0 CROSS JOIN resource m ON m.key = r0.key WHERE ${tests} AND m.content IS NOT NULL`;
  }

  /** The values of the keys that follow. */
  #later(level: number, scope: RowScope): readonly Sql[] {
    return orderTerms(this.#keys.slice(level + 1), scope).map(({ value }) => value);
  }
}

/** A test asks for more of a resource than its key. */
const LOOKS_AT_ROW = /\br0\.(?!key\b)/;

/** The row of an index at which a stretch of this length ends. */
function endOfStretch(index: OrderIndex, { start, end, falling }: Stretch, size: number): Sql {
  return sql`SELECT ${columnsOf(index)} FROM ${index.from} WHERE ${allOf([index.where, start, end])}
    ORDER BY ${inOrder(index, falling)} LIMIT 1 OFFSET ${size - 1}`;
}

function inOrder(index: OrderIndex, falling: boolean): Sql {
  return list([index.value, ...index.rest].map((column) => sql`${column} ${falling ? sql`DESC` : sql`ASC`}`));
}

function beyondValue({ value }: OrderIndex, than: SqlValue, falling: boolean): Sql {
  return sql`${value} ${falling ? sql`<` : sql`>`} ${than}`;
}

/** After a row in the order of the index; before it, if that is falling. @param including the row itself */
function beyondRow(index: OrderIndex, row: readonly SqlValue[], falling: boolean, including: boolean): Sql {
  const sign = falling ? (including ? sql`<=` : sql`<`) : including ? sql`>=` : sql`>`;
  if (index.isExpression !== true) return sql`(${columnsOf(index)}) ${sign} (${valuesOf(row)})`;
  const [value, ...rest] = row;
  const further = sql`(${list(index.rest)}) ${sign} (${valuesOf(rest)})`;
  return sql`${index.value} ${falling ? sql`<=` : sql`>=`} ${value!}
    AND (${beyondValue(index, value!, falling)} OR ${further})`;
}

function columnsOf(index: OrderIndex): Sql {
  return list([index.value, ...index.rest]);
}

function valuesOf(row: readonly SqlValue[]): Sql {
  return list(row.map((value) => sql`${value}`));
}

/** A part of an index that lies before us. */
interface Stretch {
  readonly start: Sql;
  readonly end: Sql;
  /** Read from large to small. */
  readonly falling: boolean;
}

/** Rows of a scan that are looked at to explain a search. */
const MANY = 10_000;

const ID = sql`id`;

const BY_ID: SortKey = { parameter: '_id', descending: false };

function hasValues({ parameter }: SortKey, scope: RowScope): boolean {
  return parameter === '_id' || parameter === '_lastUpdated' || parameterKey(scope, parameter) !== undefined;
}

function foundRow([content, id, ...values]: readonly SqlValue[]): FoundRow {
  return { content: content as number, id: id as string, values };
}
