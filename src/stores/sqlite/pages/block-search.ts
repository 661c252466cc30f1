import { compareRows, type FoundRow, foundRow } from '../../sql/pages/found-row.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import { isBefore } from '../../sql/pages/value-range.js';
import { isCurrent } from '../../sql/rows.js';
import { allOf, negation, type Sql, sql, type SqlValue, TRUE } from '../../sql/sql.js';
import { countOfCollection } from '../shapes.js';
import type { Statements } from '../statements.js';
import { rangeOfBlock } from '../zones.js';
import { isOfPoints, mayMatch } from './blocks.js';
import { collection } from './collection.js';
import { TUNING } from './tuning.js';
import type { Finding, WalkedRange } from './finding.js';
import type { Bounds } from '../../sql/pages/walk-bounds.js';

/**
 * Searches a range of an order block by block.
 *
 * A block is a number of neighboring resource keys, and its zones show which values it has; see zones.ts. Blocks are searched
 * in the order of their first sort value. Blocks that cannot match are skipped, and the search ends when no later block can
 * have a row of the page.
 */
export class BlockSearch {
  readonly #statements: Statements;
  readonly #order: PageOrder;

  constructor(statements: Statements, order: PageOrder) {
    this.#statements = statements;
    this.#order = order;
  }

  *find(range: WalkedRange, need: number): Finding {
    const falling = this.#order.keys[range.level]!.descending !== this.#order.backwards;
    const compare = compareRows(
      this.#order.keys.slice(range.level).map(({ descending }) => descending),
      this.#order.backwards,
    );
    const blocks = this.#blocks(range, falling);
    const rowsPerBlock = this.#rowsPerBlock(blocks.length);
    yield Math.ceil(blocks.length / ZONES_PER_ROW);
    let found: readonly FoundRow[] = [];
    let searched = 0;
    const isBeyondPage = ([, first]: Block): boolean => {
      const last = found.length < need ? undefined : found[need - 1]!.values[0];
      return last !== undefined && (falling ? isBefore(first, last) : isBefore(last, first));
    };
    for (
      let start = 0, size = FIRST_CHUNK;
      start < blocks.length;
      start += size, size = Math.min(2 * size, MAX_CHUNK)
    ) {
      const chunk = blocks.slice(start, start + size);
      if (isBeyondPage(chunk[0]!)) break;
      const present = this.#present(chunk, range);
      yield chunk.length * ROWS_PER_LOOK;
      for (const block of present) {
        if (isBeyondPage(block)) break;
        const rows = this.#statements.all(this.#inBlock(block, range, need)).map(foundRow);
        found = [...found, ...rows].sort(compare).slice(0, need);
        yield rowsPerBlock;
        if (++searched !== TUNING.blocksOnTrial) continue;
        // Blocks that hardly differ are announced with their expected cost, so that the other ways continue first.
        const left = [...present, ...blocks.slice(start + size)].filter((one) => !isBeyondPage(one)).length;
        const expected = Math.ceil((searched * need) / Math.max(found.length, 1));
        yield rowsPerBlock * (found.length < need ? Math.min(left, expected) : left);
      }
    }
    return found;
  }

  /** The cost of an average block: testing and ordering a resource takes twice as long as walking over one. */
  #rowsPerBlock(blocks: number): number {
    const [count] = this.#statements.get(countOfCollection(this.#order.scope.collection as number)) as [number];
    return Math.ceil((2 * count) / Math.max(blocks, 1));
  }

  /** All blocks with values in the range, in the order of the first value of each. */
  #blocks({ index, bounds: { low, high }, place }: WalkedRange, falling: boolean): readonly Block[] {
    const at = place?.values[0];
    if (at === null && !this.#order.backwards) return [];
    const first = falling ? sql`z.last` : sql`z.low`;
    const conditions = [
      low === undefined ? TRUE : sql`z.last >= ${low}`,
      high === undefined ? TRUE : sql`z.low <= ${high}`,
      at === undefined || at === null ? TRUE : falling ? sql`z.low <= ${at}` : sql`z.last >= ${at}`,
    ];
    return this.#statements.all(sql`SELECT z.block, ${first} FROM zone z
      WHERE ${allOf([sql`z.parameter = ${index.zone!}`, ...conditions])}
      ORDER BY 2 ${falling ? sql`DESC` : sql`ASC`}`) as readonly Block[];
  }

  /** The blocks that can have matches, in the same order. */
  #present(blocks: readonly Block[], { conditions }: WalkedRange): readonly Block[] {
    const numbers = JSON.stringify(blocks.map(([block]) => block));
    const test = mayMatch(conditions, sql`j.value`, this.#order.scope);
    const places = this.#statements.all(sql`SELECT j.key FROM json_each(${numbers}) j WHERE ${test} ORDER BY j.key`);
    return places.map(([place]) => blocks[place as number]!);
  }

  /** The first matches of a block. */
  #inBlock([block]: Block, { level, index, bounds, conditions, place }: WalkedRange, need: number): Sql {
    const { scope } = this.#order;
    const [from, to] = rangeOfBlock(block);
    const start = conditions.find(isOfPoints);
    const y = sql`y`;
    const scan =
      start === undefined
        ? sql`SELECT y.key FROM resource y NOT INDEXED WHERE y.key BETWEEN ${from} AND ${to} AND ${isCurrent({ ...scope, row: y })}`
        : sql`SELECT s.resource FROM (${start.scan!}) s WHERE s.resource BETWEEN ${from} AND ${to}`;
    const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
    const values = [
      ...valueTests(index.valueOf, bounds),
      index.missing === undefined ? TRUE : negation(index.missing.test),
    ];
    return collection(this.#order, level, scan, [...tests, ...values], need, place);
  }
}

/** A block and its first sort value. */
type Block = readonly [block: number, first: number | string];

function valueTests(value: Sql, { low, high }: Bounds): readonly Sql[] {
  const test = (bound: SqlValue | undefined, sign: Sql): readonly Sql[] =>
    bound === undefined ? [] : [sql`${value} ${sign} ${bound}`];
  return [...test(low, sql`>=`), ...test(high, sql`<=`)];
}

/** The number of blocks whose conditions one statement looks up. */
const FIRST_CHUNK = 32;
const MAX_CHUNK = 512;

/** The cost in rows of reading zones and of looking into an index. */
const ZONES_PER_ROW = 2;
const ROWS_PER_LOOK = 2;
