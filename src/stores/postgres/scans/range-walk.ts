import type { Condition } from '../../sql/pages/condition.js';
import { isBefore } from '../../sql/pages/value-range.js';
import { sql, type Sql, type SqlValue, TRUE } from '../../sql/sql.js';
import type { Row } from '../database/lent-connection.js';
import type { Run } from '../database/run.js';
import { firstRows, isBrief } from './far.js';
import type { OrderIndex } from './order-index.js';
import type { Asked } from './page-statement.js';
import { Sizes } from './sizes.js';
import { isListed, type Stretch, walked } from './stretch.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { OMITTED, takesText } from '../rows/bounded-texts.js';
import { TUNING } from './tuning.js';
import type { Bounds } from '../../sql/pages/walk-bounds.js';

/** Yields the number of rows read since the last step, and returns the texts of the matches. */
export type Finding = AsyncGenerator<number, readonly string[]>;

/** How to find the resources of one value, and those that are collected in addition to the walk. */
export interface OtherWays {
  group(asked: Asked, value: SqlValue, condition: Condition, conditions: readonly Condition[], run: Run): Finding;
  outside(asked: Asked, outside: Condition, conditions: readonly Condition[], run: Run): Finding;
}

/** Walks a range of an index, in longer and longer stretches. */
export class RangeWalk {
  readonly #ways: OtherWays;
  readonly #sizes = new Sizes();

  constructor(ways: OtherWays) {
    this.#ways = ways;
  }

  async *find(asked: Asked, index: OrderIndex, bounds: Bounds, conditions: readonly Condition[], run: Run): Finding {
    const { order, need, place } = asked;
    if (place?.values[0] === null && !order.backwards) return [];
    const found: string[] = [];
    let stretch = stretchOf(asked, index, bounds);
    let size = firstRows(conditions, order.keys[asked.level]!.parameter);
    for (let wasNear = false; ;) {
      const left: Asked = { ...asked, need: need - found.length };
      const testOf = await this.testOf(size, conditions, run);
      const rows = await run(walked(left, index, stretch, conditions.map(testOf), Math.max(2, Math.ceil(size))));
      const [end, first] = rows[0] as readonly [string | null, string | null];
      append(found, foundTexts(rows, 2, left.texts));
      if (end === null || found.length >= need) break;
      // PERF: the next rows probably fill the page, where the walk ends. The same number of rows is likely to be
      // enough.
      const isNear = found.length * TUNING.nearPage >= need;
      if (!isNear) yield size;
      if (!isNear || wasNear) size *= TUNING.growth;
      wasNear = isNear;
      if (end === first) {
        // All of the stretch had this value, and there is more.
        const ofValue = { ...asked, need: need - found.length };
        const condition = index.isValue(end);
        if (index.isCut && [...end].length === CUT)
          append(found, yield* this.#ways.outside(ofValue, condition, conditions, run));
        else append(found, yield* this.#ways.group(ofValue, end, condition, conditions, run));
        if (found.length >= need) break;
      }
      stretch = further(stretch, index, end, end === first);
    }
    return found;
  }

  /** The conditions whose scans have at most `limit` rows. */
  shortest(limit: number, conditions: readonly Condition[], run: Run): Promise<readonly Condition[]> {
    return this.#sizes.upTo(limit, conditions, run);
  }

  /** How to test this many rows: by lists of matches, if these are short in comparison. */
  async testOf(size: number, conditions: readonly Condition[], run: Run): Promise<(one: Condition) => Sql> {
    if (size < TUNING.listedFrom) return ({ test }) => test;
    const length = Math.min(size * TUNING.listedPerWalked, TUNING.maxListed);
    const scans = conditions.filter((one) => isBrief(one) || size >= TUNING.indirectFrom);
    const listed = await this.#sizes.upTo(length, scans, run);
    return (one) => (listed.includes(one) ? isListed(one, length) : one.test);
  }
}

/** Adds texts, which may be more than a call takes as arguments. */
export function append(found: string[], more: readonly string[]): void {
  for (const one of more) found.push(one);
}

/** The texts in a column; a page without matches has a row without a text. */
export function foundTexts(rows: readonly Row[], column: number, texts: CallTexts | undefined): readonly string[] {
  const found = rows.map((row) => row[column] as string | null).filter((text) => text !== null);
  return found.map((text) => (text === '' || takesText(text, texts) ? text : OMITTED));
}

/** The range to walk. */
export function stretchOf({ order, level, place }: Asked, index: OrderIndex, { low, high }: Bounds): Stretch {
  const falling = order.keys[level]!.descending !== order.backwards;
  const [from, to] = falling ? [high, low] : [low, high];
  const start = from == null ? TRUE : sql`${index.value} ${falling ? sql`<=` : sql`>=`} ${cut(index, from)}`;
  const end = to == null ? TRUE : sql`${index.value} ${falling ? sql`>=` : sql`<=`} ${cut(index, to)}`;
  const at = place?.values[0];
  if (at == null || (from != null && (falling ? isBefore(from, at) : isBefore(at, from))))
    return { start, end, falling };
  const value = cut(index, at);
  return { start: sql`${index.value} ${falling ? sql`<=` : sql`>=`} ${value}`, end, falling, at: value };
}

/** Characters of texts in an index; see schema.ts. */
export const CUT = 256;

/** The value as it is in the index. */
function cut({ isCut }: OrderIndex, value: string | number): string | number {
  return isCut ? [...String(value)].slice(0, CUT).join('') : value;
}

/** The rest of a stretch after a value. @param isDone true if no row with the value is left */
function further({ end, falling }: Stretch, { value }: OrderIndex, last: string, isDone: boolean): Stretch {
  const sign = isDone ? (falling ? sql`<` : sql`>`) : falling ? sql`<=` : sql`>=`;
  return { start: sql`${value} ${sign} ${last}`, end, falling };
}
