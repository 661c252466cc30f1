import { setImmediate as turn } from 'node:timers/promises';
import { listBytes, listsBytes } from '../../../sql/skip/key-bytes.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import type { SqlValue } from '../../../sql/sql.js';
import { type Row, textOf } from './number-texts.js';
import { GRANULES_IN_ROW, GROUPS, type GroupsOrder, ORDER, type SkipOrder, valueName } from '../../rows/skip-row.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';

/** The numbers of an order in the table. */
interface OrderNumbers {
  readonly sort: number;
  readonly subject: number;
}

/** A granule: neighbors in an order. */
export interface Granule {
  /** Its first value. */
  readonly start: SqlValue;
  /** True if it has no other value. */
  readonly isTie: boolean;
  /** The resources with these values. */
  readonly numbers: Int32Array;
}

/** Where granules start, and which have one value. */
export function startsOf(granules: readonly Granule[]): Pick<SkipOrder, 'starts' | 'ties'> {
  return {
    starts: granules.map(({ start }) => start),
    ties: [...granules.keys()].filter((place) => granules[place]!.isTie),
  };
}

/** The numbers of a granule in ascending order. A resource may have several groups in one granule. */
export function distinctNumbers({ numbers }: Granule): Int32Array {
  return Int32Array.from(new Set(numbers)).sort();
}

/**
 * The rows of an order.
 *
 * @param several true if some resources have several values
 * @param groups of an order of groups: a resource may have several in one granule
 */
export async function* granuleRows(
  { sort, subject, several, groups }: Pick<SkipOrder, 'several'> & OrderNumbers & { readonly groups?: ValueGroups },
  granules: readonly Granule[],
  all: KeySet,
): AsyncGenerator<Row> {
  const order: SkipOrder = { ...startsOf(granules), several };
  if (groups === undefined) yield { sort, subject, value: ORDER, data: JSON.stringify(order) };
  else {
    const ofGroups: GroupsOrder = { ...order, groups, subject };
    yield { sort, subject: GROUPS, value: valueName(groups.code), data: JSON.stringify(ofGroups) };
  }
  const missing = all.copy();
  for (let first = 0; first <= granules.length; first += GRANULES_IN_ROW) {
    const lists = granules.slice(first, first + GRANULES_IN_ROW).map((granule) => {
      for (const number of granule.numbers) missing.delete(number);
      return listBytes(groups === undefined ? granule.numbers.sort() : distinctNumbers(granule), 0);
    });
    if (first + GRANULES_IN_ROW > granules.length) lists.push(listBytes(missing.keys(), 0));
    yield { sort, subject, value: String(first / GRANULES_IN_ROW), data: textOf(listsBytes(lists)) };
    await turn();
  }
}
