import type { PageOrder } from '../../sql/pages/page-order.js';
import type { Sql } from '../../sql/sql.js';
import type { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';
import { TUNING } from '../scans/tuning.js';
import { compareRows, type FoundRow, foundRow } from './found-row.js';
import { sortInTime } from './sort-in-time.js';

/** The rows of a collection in order. A long page is sorted here. */
export function sortedRows(
  statement: Sql,
  statements: Statements,
  { keys, backwards }: PageOrder,
  need: number,
  guard: Guard,
): readonly FoundRow[] {
  const rows = statements.all(statement).map(foundRow);
  if (need <= TUNING.maxChunk) return rows;
  const descending = keys.map((key) => key.descending);
  return sortInTime(rows, compareRows(descending, backwards), guard).slice(0, need);
}
