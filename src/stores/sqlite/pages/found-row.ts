import type { SqlValue } from '../../sql/sql.js';
import { compareTexts } from '../../sql/texts.js';

/** A match on its way to a page. */
export interface FoundRow {
  /** Key of its version. */
  readonly content: number;
  readonly id: string;
  /** What it is ordered by, from some key of the sort on. */
  readonly values: readonly SqlValue[];
}

/** From the columns of a statement. */
export function foundRow([content, id, ...values]: readonly SqlValue[]): FoundRow {
  return { content: content as number, id: id as string, values };
}

/** A direction per value. @param backwards the whole order is turned round, the absent first and the ids with it */
export function compareRows(descending: readonly boolean[], backwards: boolean): (a: FoundRow, b: FoundRow) => number {
  const sign = backwards ? -1 : 1;
  return (a, b) => {
    for (const [index, isDescending] of descending.entries()) {
      const order = compareValues(a.values[index]!, b.values[index]!, isDescending);
      if (order !== 0) return sign * order;
    }
    return sign * compareTexts(a.id, b.id);
  };
}

/** Nothing comes last in either direction. */
function compareValues(a: SqlValue, b: SqlValue, descending: boolean): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b));
  return descending ? -order : order;
}
