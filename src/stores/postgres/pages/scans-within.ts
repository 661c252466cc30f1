import { type Condition, isLinked } from '../../sql/pages/condition.js';
import type { RowScope } from '../../sql/rows.js';
import { TRUE } from '../../sql/sql.js';
import { areLinked, isBrief, otherEnd } from '../scans/far.js';
import { scansFor } from '../scans/own-scans.js';
import { TUNING } from '../scans/tuning.js';

/**
 * The conditions whose scans a look of some rows can begin with. For a chain or a `_has`, the database first finds all
 * resources at the other end: these are few, or a longer look is needed.
 *
 * @param isSkipped true if there are skip indexes: a shorter way than a scan that reads all values, or more rows than
 * it returns
 * @param shortest chooses the scans that are no longer than the look
 */
export async function scansWithin(
  look: number,
  conditions: readonly Condition[],
  isSkipped: boolean,
  scope: RowScope,
  shortest: (known: readonly Condition[]) => Promise<readonly Condition[]>,
): Promise<readonly Condition[]> {
  if (look >= TUNING.indirectFrom) return scansFor(look, conditions);
  const scans = scansFor(look, isSkipped ? conditions.filter(isBrief) : conditions);
  if (!areLinked(scans)) return scans;
  const ends = scans.map((one) => ({ one, scan: otherEnd(one, scope), test: TRUE }));
  const known = ends.filter(({ scan }) => scan !== undefined);
  const short = known.length === 0 ? [] : await shortest(known);
  const isRead = (end: (typeof ends)[number]): boolean =>
    end.scan === undefined ? !isSkipped || !isLinked(end.one) : short.includes(end);
  return ends.filter(isRead).map(({ one }) => one);
}
