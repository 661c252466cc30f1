import type { SqlValue } from '../../sql/sql.js';
import { compareTexts } from '../../../platform/texts.js';
import { compareValues } from '../../sql/texts.js';

/** A match on its way to a page. */
export interface FoundRow {
  /** The key of its version. */
  readonly content: number;
  readonly id: string;
  /** A value for each key of the order. */
  readonly values: readonly SqlValue[];
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
