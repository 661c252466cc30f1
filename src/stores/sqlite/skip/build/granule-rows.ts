import { partWith } from '../../../sql/pages/value-range.js';
import { listBytes, listsBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import type { SqlValue } from '../../../sql/sql.js';
import { BY_END, GRANULES_IN_ROW, ORDER, type SkipOrder, type SkipRow } from '../../rows/skip-row.js';

/**
 * The rows of an order.
 *
 * @param values in order, of the resource at the same place in `keys`
 * @param all all resources: those without a value are in the last granule, unless the order is of long intervals or groups
 */
export function* granuleRows(
  sort: number,
  subject: number,
  order: SkipOrder,
  [keys, values]: readonly [readonly number[], readonly SqlValue[]],
  all: KeySet,
): Generator<SkipRow> {
  const { starts, groups } = order;
  yield { sort, subject, value: ORDER, data: JSON.stringify(order) };
  const isOfAll = subject !== BY_END && groups === undefined;
  const missing = isOfAll ? all.copy() : new KeySet(0, 0);
  const granules: number[][] = starts.map(() => []);
  values.forEach((value, place) => {
    granules[partWith(starts, value)]!.push(keys[place]!);
    if (isOfAll) missing.delete(keys[place]!);
  });
  granules.push([...missing.keys()]);
  // A resource may have several groups in a granule.
  const distinct = groups === undefined ? granules : granules.map((own) => [...new Set(own)]);
  const lists = distinct.map((own) => listBytes(Float64Array.from(own).sort(), all.first));
  for (let start = 0, value = 0; start < lists.length; start += GRANULES_IN_ROW, value++) {
    yield { sort, subject, value, data: listsBytes(lists.slice(start, start + GRANULES_IN_ROW)) };
  }
}
