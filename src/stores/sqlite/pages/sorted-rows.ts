import { compareRows, type FoundRow, foundRow } from './found-row.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import type { Sql } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';
import type { Asked } from './finding.js';
import { type Clock, sortInTime } from './sort-in-time.js';
import { TUNING } from '../scans/tuning.js';

/** The rows of a {@link collection} in order, from one key of the order on. A long page is sorted here. */
export function sortedRows(
  statement: Sql,
  statements: Statements,
  order: PageOrder,
  asked: Pick<Asked, 'level' | 'need'>,
  clock: Clock,
): readonly FoundRow[] {
  const rows = statements.all(statement).map(foundRow);
  return asked.need <= TUNING.maxSorted ? rows : inOrder(rows, order, asked, clock);
}

/** The first rows in the order of the keys from a level on. */
export function inOrder(
  rows: readonly FoundRow[],
  { keys, backwards }: PageOrder,
  { level, need }: Pick<Asked, 'level' | 'need'>,
  clock: Clock,
): readonly FoundRow[] {
  const compare = compareRows(
    keys.slice(level).map(({ descending }) => descending),
    backwards,
  );
  const sorted = sortInTime(rows, compare, clock);
  return sorted.length > need ? sorted.slice(0, need) : sorted;
}
