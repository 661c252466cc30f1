import { sql, type Sql, type SqlValue } from '../../../sql/sql.js';
import type { Runner } from '../../rows/meta.js';
import { SKIP_TUNING } from '../../rows/skip-row.js';
import type { Granule } from '../format/granule-rows.js';
import { numbers, numbersIn } from '../format/number-texts.js';

/**
 * Reads the granules of orders. Equal values are never in two granules, and a value that many resources have gets a granule
 * of its own.
 *
 * @param rows selects values `v` and the numbers `n` of their resources
 * @param name a column of the rows: each of its values has an order of its own. Default: all rows are one order
 * @returns the granules of each order, in order, by name; without names by null
 */
export async function readGranules(
  runner: Runner,
  rows: Sql,
  isNumber: boolean,
  name?: Sql,
): Promise<ReadonlyMap<string | null, readonly Granule[]>> {
  const { granule } = SKIP_TUNING;
  const names = name === undefined ? sql`` : sql`${name}, `;
  const ofOrder = name === undefined ? sql`` : sql`PARTITION BY ${name} `;
  const found = (await runner.run(sql`SELECT ${name ?? sql`NULL`}, min(q.v), q.tie, ${numbers(sql`n`)} FROM (
      SELECT ${names}v, n, tie, sum(tie::int) OVER (${ofOrder}ORDER BY v) AS part,
        rank() OVER (${ofOrder}ORDER BY v) / ${granule}::int AS place FROM (
        SELECT ${names}v, n, count(*) OVER (PARTITION BY ${names}v) >= ${Math.ceil(granule / 2)} AS tie FROM (${rows}) x) y) q
    GROUP BY ${names}q.part, q.tie, CASE WHEN q.tie THEN 0 ELSE q.place END ORDER BY 2`)) as readonly (readonly [
    string | null,
    SqlValue,
    boolean,
    string,
  ])[];
  const granulesOf = ([, start, isTie, data]: (typeof found)[number]): Granule => {
    return { start: isNumber ? Number(start) : start, isTie, numbers: numbersIn(data) };
  };
  return new Map([...Map.groupBy(found, ([one]) => one)].map(([one, own]) => [one, own.map(granulesOf)]));
}
