import { sorting } from '../../../platform/collections.js';
import { compareTexts } from '../../../platform/texts.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import type { Sql, SqlValue } from '../../sql/sql.js';
import { compareValues } from '../../sql/texts.js';
import type { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';
import { TUNING } from '../scans/tuning.js';

/** A match on its way to a page. */
export interface FoundRow {
  /** The key of its version. */
  readonly content: number;
  readonly id: string;
  /** A value for each key of the order. */
  readonly values: readonly SqlValue[];
}

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

/** Reads a row from the columns of a statement. */
export function foundRow([content, id, ...values]: readonly SqlValue[]): FoundRow {
  return { content: content as number, id: id as string, values };
}

/** Compares rows, with a direction per value. @param backwards reverses the whole order: ids too, and absent values come first */
export function compareRows(
  descending: readonly boolean[],
  backwards: boolean,
): (a: Pick<FoundRow, 'id' | 'values'>, b: Pick<FoundRow, 'id' | 'values'>) => number {
  const sign = backwards ? -1 : 1;
  return (a, b) => {
    for (const [index, isDescending] of descending.entries()) {
      const order = compareDirected(a.values[index]!, b.values[index]!, isDescending);
      if (order !== 0) return sign * order;
    }
    return sign * compareTexts(a.id, b.id);
  };
}

/** An absent value comes last in either direction. */
function compareDirected(a: SqlValue, b: SqlValue, descending: boolean): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  const order = compareValues(a, b);
  return descending ? -order : order;
}

/**
 * Sorts items, and ends at the deadline of the call. The database would check no deadline while it sorts.
 *
 * @throws FhirError `aborted` - the deadline has passed
 */
export function sortInTime<Item>(items: readonly Item[], compare: (a: Item, b: Item) => number, guard: Clock): Item[] {
  const steps = sorting(items, compare, { run: RUN });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    guard.check();
  }
}

/** Ends work whose deadline has passed. */
export type Clock = Pick<Guard, 'check'>;

/** Items between two checks of the deadline: a millisecond or two. */
const RUN = 4_096;
