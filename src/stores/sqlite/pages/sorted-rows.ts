import { compareRows, type FoundRow, foundRow } from '../../sql/pages/found-row.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import type { Sql } from '../../sql/sql.js';
import type { Statements } from '../statements.js';
import { type Clock, sortInTime } from './sort-in-time.js';
import { TUNING } from './tuning.js';

/** The rows of a {@link collection} in order, from one key of the order on: those of a long page are sorted here. */
export function sortedRows(
  statement: Sql,
  statements: Statements,
  order: PageOrder,
  level: number,
  need: number,
  clock: Clock,
): readonly FoundRow[] {
  const rows = statements.all(statement).map(foundRow);
  return need <= TUNING.maxSorted ? rows : inOrder(rows, order, level, need, clock);
}

/** The first rows in the order of the keys from a level on. */
export function inOrder(
  rows: readonly FoundRow[],
  { keys, backwards }: PageOrder,
  level: number,
  need: number,
  clock: Clock,
): readonly FoundRow[] {
  const compare = compareRows(
    keys.slice(level).map(({ descending }) => descending),
    backwards,
  );
  const sorted = sortInTime(rows, compare, clock);
  return sorted.length > need ? sorted.slice(0, need) : sorted;
}
