import type { KeySet } from '../../sql/skip/key-set.js';
import { allOf, sql, type Sql } from '../../sql/sql.js';
import { looksAtRow } from '../../sql/pages/condition.js';
import type { SkipOrderKeys } from '../skip/read/order-keys.js';
import type { SkipIndex } from '../skip/read/skip-index.js';
import type { OrderIndex } from '../scans/order-index.js';
import { type Asked, firstWithTies, isBeyond, oneResource, pageOf } from '../scans/page-statement.js';
import { TUNING } from '../scans/tuning.js';

/** Resources of a granule. */
export interface PartOfGranule {
  readonly granule: number;
  /** How many resources of the granule were not written since the index was built. */
  readonly size: number;
  /** A bit for each of these, in the order of the keys: whether it is in the part. In hexadecimal digits. */
  readonly bits: string;
}

/** Finds granules with so many candidates that reading all values of the granule takes less time. */
export class DenseGranules {
  readonly #index: SkipIndex;
  #current: Promise<KeySet> | undefined;

  constructor(index: SkipIndex) {
    this.#index = index;
  }

  /**
   * Undefined if looking up the candidates takes less time.
   *
   * @param numbers the numbers of the candidates, in ascending order
   */
  async partOf(order: SkipOrderKeys, granule: number, numbers: readonly number[]): Promise<PartOfGranule | undefined> {
    const hasValues = granule < order.starts.length;
    const isMany = numbers.length >= TUNING.denseGranule;
    if (!hasValues || !isMany || this.#index.pending > TUNING.writtenBeside) return undefined;
    const all = order.keysOf(granule, await (this.#current ??= this.#withoutWritten()));
    if (all.length > TUNING.readPerMember * numbers.length) return undefined;
    await this.#index.loadKeys();
    return { granule, size: all.length, bits: bitsOf(this.#index.inKeyOrder(all), new Set(numbers)) };
  }

  async #withoutWritten(): Promise<KeySet> {
    const written = await this.#index.writtenNumbers();
    if (written.length === 0) return this.#index.all;
    const current = this.#index.all.copy();
    for (const number of written) current.delete(number);
    return current;
  }
}

/**
 * The matches among resources of a granule, which is a range of the index of its order. Its rows are the number of
 * resources in the range and the text, in order; a single row without a text if none matches. If that number differs
 * from the size of the granule, the bits do not tell which resources they mean.
 *
 * PERF: the values are read and sorted first, and resources are tested until the page is full. Looking up a resource
 * and its value takes 10 µs, reading a value in the index less than 1 µs.
 */
export function pageOfGranule(
  asked: Asked,
  index: OrderIndex,
  skip: SkipIndex,
  { starts }: SkipOrderKeys,
  { granule, bits }: PartOfGranule,
  tests: readonly Sql[],
): Sql {
  const { order, level } = asked;
  const { from, where, key, value, isCut } = index;
  const range = [where, sql`${value} >= ${starts[granule]!}`];
  if (granule + 1 < starts.length) range.push(sql`${value} < ${starts[granule + 1]!}`);
  if (skip.pending > 0) range.push(sql`${key} NOT IN (${skip.written})`);
  const direction = order.keys[level]!.descending === order.backwards ? sql`ASC` : sql`DESC`;
  const members = sql`SELECT g.key, g.v FROM g WHERE get_bit(${bits}::text::bytea, g.n - 1) = 1 ORDER BY g.v ${direction} OFFSET 0`;
  const row = looksAtRow(allOf(tests))
    ? sql`(SELECT w0.v, y0.* FROM (${members}) w0 ${oneResource(sql`y0`, sql`w0.key`, order)}) r0`
    : sql`(${members}) r0`;
  const isNext = isBeyond(asked, sql`r0.key`);
  return sql`WITH g AS MATERIALIZED (SELECT x.key, x.v, row_number() OVER (ORDER BY x.key) AS n
      FROM (SELECT ${key} AS key, ${value} AS v FROM ${from} WHERE ${allOf(range)}) x),
    t AS MATERIALIZED (SELECT r0.key, r0.v FROM ${row} WHERE ${allOf([...tests, isNext])} ${firstWithTies(asked, sql`r0.v`)})
    SELECT c.size, p.content FROM (SELECT count(*) AS size FROM g) c LEFT JOIN ${pageOf(asked, sql`t`, isCut)} ON TRUE
    WHERE ${asked.holds} ORDER BY p.n`;
}

/** Bits in the order of the bits of a `bytea`. */
function bitsOf(all: readonly number[], some: ReadonlySet<number>): string {
  const bytes = new Uint8Array(Math.ceil(all.length / 8));
  for (const [place, number] of all.entries()) if (some.has(number)) bytes[place >> 3]! |= 1 << (place & 7);
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}
