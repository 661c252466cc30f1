import type { Criteria } from '../../../../search/criteria/criteria.js';
import { type Condition, leavesOf } from '../../../sql/pages/condition.js';
import type { RowScope } from '../../../sql/rows.js';
import type { Run } from '../../database/run.js';
import { ConditionSets } from './condition-sets.js';
import { LikelyShares } from './likely-shares.js';
import { LinkedSets } from './linked-sets.js';
import { SkipIndex } from '../read/skip-index.js';
import { type SkipSource, SkipStates } from '../read/skip-state.js';

/** What is known of a search whose sets are opened. */
export interface SetsOptions {
  /** They lead to types whose states are read together. */
  readonly conditions?: readonly Condition[];
  readonly states?: SkipStates | undefined;
  /** See {@link KnownSets}. */
  readonly isForCount?: boolean;
}

/**
 * Opens the sets of a type of a project, and on demand those of the types that conditions lead to. Undefined if the type has no
 * valid skip index, or too much was written since.
 *
 * @param run in one snapshot with the search
 */
export async function openConditionSets(
  scope: RowScope,
  source: SkipSource,
  run: Run,
  { conditions = [], states = new SkipStates(scope.project, source.epoch, run), isForCount = false }: SetsOptions = {},
): Promise<ConditionSets | undefined> {
  await states.read(typesOf(scope, conditions));
  return open(scope, source, run, states, isForCount);
}

/** The type that is searched, and those that conditions lead to. */
export function typesOf({ type }: RowScope, conditions: readonly Condition[]): readonly string[] {
  return [type, ...conditions.flatMap(({ criteria }) => (criteria === undefined ? [] : linkedTypes(criteria)))];
}

function linkedTypes(criteria: Criteria): readonly string[] {
  return leavesOf(criteria).flatMap((one) =>
    one.kind === 'chain' || one.kind === 'has' ? [one.type, ...linkedTypes(one.of)] : [],
  );
}

async function open(
  scope: RowScope,
  source: SkipSource,
  run: Run,
  states: SkipStates,
  isForCount: boolean,
): Promise<ConditionSets | undefined> {
  const index = await SkipIndex.open(scope, source, run, states);
  if (index === undefined) return undefined;
  LikelyShares.note(scope, index.header, source.cache);
  const linked = new LinkedSets(index, scope, run, (other) => open(other, source, run, states, false));
  return new ConditionSets(index, scope, run, linked, isForCount);
}
