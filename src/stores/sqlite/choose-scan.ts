import type { ChooseScan, PlannedScan } from './plan.js';
import { type Sql, sql } from './sql.js';
import type { Statements } from './statements.js';

/**
 * Picks the scan with the fewest rows by reading the beginning of each: first of those whose rows come at once, and of all
 * only when none of these is short. So the choice costs little next to the search, and rests on the data as it is.
 */
export function chooseScan(statements: Statements): ChooseScan {
  return (scans) => {
    const direct = scans.flatMap(({ direct: isDirect }, index) => (isDirect ? [index] : []));
    const quick = direct.length === 0 ? undefined : shortest(direct, scans, SHORT_LOOK, statements);
    if (quick !== undefined && quick.rows < SHORT_LOOK) return quick.index;
    const all = [...scans.keys()];
    return shortest(all, scans, LONG_LOOK, statements).index;
  };
}

/** Rows read at most of each scan; a row takes about 0.1 µs. */
const SHORT_LOOK = 100;
const LONG_LOOK = 5_000;

function shortest(
  indexes: readonly number[],
  scans: readonly PlannedScan[],
  look: number,
  statements: Statements,
): { readonly index: number; readonly rows: number } {
  let best = { index: indexes[0]!, rows: Infinity };
  for (const index of indexes) {
    const rows = countUpTo(Math.min(look, best.rows), scans[index]!.scan, statements);
    if (rows < best.rows) best = { index, rows };
  }
  return best;
}

function countUpTo(limit: number, scan: Sql, statements: Statements): number {
  const [count] = statements.get(sql`SELECT count(*) FROM (SELECT 1 FROM (${scan}) LIMIT ${limit})`) as [number];
  return count;
}
