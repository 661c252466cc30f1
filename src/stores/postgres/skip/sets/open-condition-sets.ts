import type { RowScope } from '../../../sql/rows.js';
import type { Run } from '../../database/run.js';
import { ConditionSets } from './condition-sets.js';
import { LikelyShares } from './likely-shares.js';
import { LinkedSets } from './linked-sets.js';
import { SkipIndex } from '../read/skip-index.js';
import type { SkipSource } from '../read/skip-state.js';

/**
 * Opens the sets of a type of a project, and with them those of the types that conditions lead to. Undefined where the type
 * has no valid skip index, or too much was written since.
 *
 * @param run in one snapshot with the search
 */
export async function openConditionSets(
  scope: RowScope,
  source: SkipSource,
  run: Run,
): Promise<ConditionSets | undefined> {
  const index = await SkipIndex.open(scope, source, run);
  if (index === undefined) return undefined;
  LikelyShares.note(scope, index.header, source.cache);
  const linked = new LinkedSets(index, scope, run, (other) => openConditionSets(other, source, run));
  return new ConditionSets(index, scope, run, linked);
}
