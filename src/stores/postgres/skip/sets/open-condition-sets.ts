import { getOrCreate } from '../../../../platform/maps.js';
import type { Criteria } from '../../../../search/criteria/criteria.js';
import { type Condition, leavesOf } from '../../../sql/pages/condition.js';
import type { RowScope } from '../../../sql/rows.js';
import type { Run } from '../../database/run.js';
import { ConditionSets } from './condition-sets.js';
import { LikelyShares } from './likely-shares.js';
import { LinkedSets } from './linked-sets.js';
import { SkipIndex } from '../read/skip-index.js';
import { type SkipSource, SkipStates } from '../read/skip-state.js';

/** Options for the sets of a search. */
export interface SetsOptions {
  /** Conditions that lead to further types; the states of all types are read together. */
  readonly conditions?: readonly Condition[];
  readonly states?: SkipStates | undefined;
  /** See {@link KnownSets}. */
  readonly isForCount?: boolean;
}

/**
 * Opens the sets of a type of a project, and on demand those of the types that conditions lead to. Undefined if the type has no
 * valid skip index, or too much was written since.
 *
 * @param run runs in one snapshot with the search
 */
export async function openConditionSets(
  scope: RowScope,
  source: SkipSource,
  run: Run,
  { conditions = [], states = new SkipStates(scope.project, source.epoch, run), isForCount = false }: SetsOptions = {},
): Promise<ConditionSets | undefined> {
  await states.read(typesOf(scope, conditions));
  return open(scope, { source, run, states, opened: new Map() }, isForCount);
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

/** Opens the sets of each type once. */
function open(scope: RowScope, search: Opening, isForCount = false): Promise<ConditionSets | undefined> {
  // A chain that leaves a contained resource enters no other contained resources.
  const name = `${scope.type} ${scope.sealed === true}`;
  return getOrCreate(search.opened, name, () => openNew(scope, search, isForCount));
}

async function openNew(scope: RowScope, search: Opening, isForCount: boolean): Promise<ConditionSets | undefined> {
  const { source, run, states } = search;
  const index = await SkipIndex.open(scope, source, run, states);
  if (index === undefined) return undefined;
  LikelyShares.note(scope, index.header, source.cache);
  const linked = new LinkedSets(index, scope, run, (other) => open(other, search));
  return new ConditionSets(index, scope, run, linked, isForCount);
}

/** The state that the sets of one search share. */
interface Opening {
  readonly source: SkipSource;
  readonly run: Run;
  readonly states: SkipStates;
  readonly opened: Map<string, Promise<ConditionSets | undefined>>;
}
