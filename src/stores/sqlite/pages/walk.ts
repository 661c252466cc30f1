import { inTime } from '../../sql/rows.js';
import { allOf, sql, type SqlValue } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';
import type { Condition } from '../../sql/pages/condition.js';
import { compareRows, type FoundRow, foundRow } from './found-row.js';
import type { OrderIndex } from '../scans/order-index.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import { beyondRow, beyondValue, endOfStretch, inStretch, type Stretch, stretchOf } from './stretch.js';
import { TUNING } from '../scans/tuning.js';
import type { Asked, Finding } from './finding.js';
import { type Bounds, isWithin } from '../../sql/pages/walk-bounds.js';
import { boundsOf } from '../scans/walk-bounds.js';

/** The other ways to find rows, for the parts of an order that are not walked. */
export interface OtherWays {
  /** Finds rows in the order of the keys from a level on, by the shortest way. */
  find(asked: Asked): Finding;
  /** Sorts the rows of a scan that meet the conditions. */
  sorted(asked: Asked, start: Condition): readonly FoundRow[];
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

  /** Reads the matches before the range, in it, after it, and those without a value; reversed for backwards pages. */
  *walk(asked: Asked, index: OrderIndex): Finding {
    const { level, conditions, need } = asked;
    const bounds = boundsOf(this.#order.keys[level]!, index, conditions, this.#order.scope, this.#statements);
    const { missing } = index;
    const { before, after } = bounds;
    const parts: ((left: Asked) => Finding)[] = [];
    if (before !== undefined) parts.push((left) => this.#outside(left, before));
    if (bounds.empty !== true) parts.push((left) => this.#range(left, index, bounds));
    if (after !== undefined) parts.push((left) => this.#outside(left, after));
    if (missing !== undefined && !bounds.valued) {
      parts.push((left) => this.#group(left, null, { ...missing, direct: true }));
    }
    if (this.#order.backwards) parts.reverse();
    const found: FoundRow[] = [];
    for (const part of parts) {
      if (found.length < need) found.push(...(yield* part({ ...asked, need: need - found.length })));
    }
    return found;
  }

  *#outside(asked: Asked, outside: Condition): Finding {
    yield TUNING.firstChunk;
    // The test is narrower than the scan.
    return this.#ways.sorted({ ...asked, conditions: [...asked.conditions, { test: outside.test }] }, outside);
  }

  /** The resources with one value, in the order of the next key. */
  *#group({ level, conditions, need, place }: Asked, value: SqlValue, condition: Condition): Finding {
    const isHere = place !== undefined && place.values[0] === value;
    if (place !== undefined && !isHere && (value === null) === this.#order.backwards) return [];
    const rest = isHere ? { values: place.values.slice(1), id: place.id } : undefined;
    const rows = yield* this.#ways.find({
      level: level + 1,
      conditions: [...conditions, condition],
      need,
      place: rest,
    });
    return rows.map((row) => ({ ...row, values: [value, ...row.values] }));
  }

  *#range(asked: Asked, index: OrderIndex, bounds: Bounds): Finding {
    const { level, conditions, need, place } = asked;
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
      found.push(...(yield* this.#group(asked, at, condition)));
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
        const left: Asked = { ...asked, need: need - found.length, place: undefined };
        found.push(...(yield* this.#group(left, value!, this.#isValue(index, value!))));
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
