import type { ChooseScan } from '../../sql/plan.js';
import type { Statements } from '../database/statements.js';
import { Probes } from './probe.js';

/**
 * Picks the scan with the fewest rows by reading the beginning of each, further and further until one of them ends.
 *
 * So the choice costs little compared with the search, and is based on the actual data. Scans without immediate first
 * rows take part only if the others are long.
 */
export function chooseScan(statements: Statements): ChooseScan {
  return (scans) => {
    const probes = new Probes(statements);
    const direct = scans.filter((scan) => scan.direct);
    for (const look of LOOKS) {
      const shortest = probes.shortestUnder(look, direct);
      if (shortest !== undefined) return scans.indexOf(shortest.condition);
    }
    const shortest = probes.shortestUnder(MAX_PROBED_ROWS, scans)?.condition;
    return scans.indexOf(shortest ?? direct[0] ?? scans[0]!);
  };
}

/** Maximum rows to read of each scan, attempt by attempt; a row takes about 0.1 µs. */
const LOOKS = [100, 1_000];
const MAX_PROBED_ROWS = 10_000;
