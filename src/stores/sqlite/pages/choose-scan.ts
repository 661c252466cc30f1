import type { ChooseScan, PlannedScan } from '../../sql/plan.js';
import { type Sql, sql } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';

/**
 * Picks the scan with the fewest rows by reading the beginning of each, further and further until one of them ends.
 *
 * So the choice costs little compared with the search, and is based on the actual data. Scans without immediate first
 * rows take part only if the others are long.
 */
export function chooseScan(statements: Statements): ChooseScan {
  return (scans) => {
    const direct = scans.filter((scan) => scan.direct);
    for (const look of LOOKS) {
      const shortest = shortestUnder(look, direct, statements);
      if (shortest !== undefined) return scans.indexOf(shortest);
    }
    const shortest = shortestUnder(MAX_PROBED_ROWS, scans, statements);
    return scans.indexOf(shortest ?? direct[0] ?? scans[0]!);
  };
}

/** Maximum rows to read of each scan, attempt by attempt; a row takes about 0.1 µs. */
const LOOKS = [100, 1_000];
const MAX_PROBED_ROWS = 10_000;

function shortestUnder(look: number, scans: readonly PlannedScan[], statements: Statements): PlannedScan | undefined {
  let shortest: PlannedScan | undefined;
  let fewest = look;
  for (const scan of scans) {
    const rows = countUpTo(fewest, scan.scan, statements);
    if (rows < fewest) [shortest, fewest] = [scan, rows];
  }
  return shortest;
}

function countUpTo(limit: number, scan: Sql, statements: Statements): number {
  const [count] = statements.get(sql`SELECT count(*) FROM (SELECT 1 FROM (${scan}) LIMIT ${limit})`) as [number];
  return count;
}
