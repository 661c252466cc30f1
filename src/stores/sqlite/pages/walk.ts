import { inTime } from '../../sql/rows.js';
import { allOf, sql, type SqlValue } from '../../sql/sql.js';
import type { Statements } from '../statements.js';
import type { Condition } from '../../sql/pages/condition.js';
import { compareRows, type FoundRow, foundRow } from '../../sql/pages/found-row.js';
import type { OrderIndex } from './order-index.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';
import { beyondRow, beyondValue, endOfStretch, inStretch, type Stretch, stretchOf } from './stretch.js';
import { TUNING } from './tuning.js';
import type { Finding, WalkedRange } from './finding.js';
import { isWithin } from '../../sql/pages/walk-bounds.js';
import { boundsOf } from './walk-bounds.js';

/** The other ways to find rows, for the parts of an order that are not walked. */
export interface OtherWays {
  /** Finds rows in the order of the keys from a level on, by the shortest way. */
  find(level: number, conditions: readonly Condition[], need: number, place: PagePosition | undefined): Finding;
  /** Sorts the rows of a scan that meet the conditions. */
  collect(
    level: number,
    conditions: readonly Condition[],
    start: Condition | undefined,
    need: number,
    place: PagePosition | undefined,
  ): readonly FoundRow[];
}

/** Reads the index of a key in its order and tests each row, until the page is full. */
export class Walker {
  readonly #statements: Statements;
  readonly #order: PageOrder;
  readonly #ways: OtherWays;

  constructor(statements: Statements, order: PageOrder, ways: OtherWays) {
    this.#statements = statements;
    this.#order = order;
    this.#ways = ways;
  }

  /** Reads the matches before the range, in it, after it, and those without a value; backwards in the opposite order. */
  *walk(
    level: number,
    index: OrderIndex,
    conditions: readonly Condition[],
    need: number,
    place: PagePosition | undefined,
  ): Finding {
    const key = this.#order.keys[level]!;
    const bounds = boundsOf(key, index, conditions, this.#order.scope, this.#statements);
    const { missing } = index;
    const parts: ((need: number) => Finding)[] = [];
    const { before, after } = bounds;
    if (before !== undefined) parts.push((left) => this.#outside(level, conditions, before, left, place));
    const range = { level, index, bounds, conditions, place };
    if (bounds.empty !== true) parts.push((left) => this.#range(range, left));
    if (after !== undefined) parts.push((left) => this.#outside(level, conditions, after, left, place));
    if (missing !== undefined && !bounds.valued) {
      const condition = { ...missing, direct: true };
      parts.push((left) => this.#group(level, null, condition, conditions, left, place));
    }
    if (this.#order.backwards) parts.reverse();
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
    place: PagePosition | undefined,
  ): Finding {
    // The test is narrower than the scan.
    const conditionsOutside = [...conditions, { test: outside.test }];
    yield TUNING.firstChunk;
    return this.#ways.collect(level, conditionsOutside, outside, need, place);
  }

  /** Resources with one value, in the order of the next key. */
  *#group(
    level: number,
    value: SqlValue,
    condition: Condition,
    conditions: readonly Condition[],
    need: number,
    place: PagePosition | undefined,
  ): Finding {
    const isHere = place !== undefined && place.values[0] === value;
    if (place !== undefined && !isHere && (value === null) === this.#order.backwards) return [];
    const rest = isHere ? { values: place.values.slice(1), id: place.id } : undefined;
    const rows = yield* this.#ways.find(level + 1, [...conditions, condition], need, rest);
    return rows.map((row) => ({ ...row, values: [value, ...row.values] }));
  }

  *#range({ level, index, bounds, conditions, place }: WalkedRange, need: number): Finding {
    const key = this.#order.keys[level]!;
    const compare = compareRows(
      this.#order.keys.slice(level).map(({ descending }) => descending),
      this.#order.backwards,
    );
    const found: FoundRow[] = [];
    const at = place?.values[0];
    if (at === null && !this.#order.backwards) return [];
    if (at !== undefined && at !== null && !index.unique && isWithin(at, bounds)) {
      const condition = this.#isValue(index, at);
      found.push(...(yield* this.#group(level, at, condition, conditions, need, place)));
    }
    let stretch = stretchOf(this.#order, key, index, bounds, at ?? undefined);
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
      // The whole stretch has this value, and more rows follow.
      const isLong = value === lastValue;
      const start = isLong ? stretch.start : beyondRow(index, last, stretch.falling, false);
      if (isLong) {
        pending = [];
        const condition = this.#isValue(index, value!);
        found.push(...(yield* this.#group(level, value!, condition, conditions, need - found.length, undefined)));
        stretch = { ...stretch, start: beyondValue(index, value!, stretch.falling) };
        lastValue = undefined;
      } else {
        stretch = { ...stretch, start };
        if (!index.unique) lastValue = value;
      }
      size = Math.min(size * 2, TUNING.maxChunk);
    }
    return found.length > need ? found.slice(0, need) : found;
  }

  #isValue(index: OrderIndex, value: SqlValue): Condition {
    const { codesOf } = index;
    return {
      test: index.isValue(value),
      shared: codesOf === undefined || value === null ? undefined : { parameter: codesOf, value, suffices: false },
      scan: sql`SELECT ${index.key} FROM ${index.from} WHERE ${allOf([index.where, sql`${index.value} = ${value}`, inTime(index.key, this.#order.scope)])}`,
      direct: true,
    };
  }

  /** The matches among the next rows of an index, and the last of these rows; undefined at the end of the range. */
  #chunk(
    level: number,
    index: OrderIndex,
    stretch: Stretch,
    conditions: readonly Condition[],
    size: number,
  ): { readonly rows: readonly FoundRow[]; readonly last: readonly SqlValue[] | undefined; readonly looked: number } {
    const last = this.#statements.get(endOfStretch(index, stretch, size));
    const rows = this.#statements.all(inStretch(this.#order, level, index, stretch, conditions, last));
    return { rows: rows.map(foundRow), last, looked: size };
  }
}
