import { and, not, or } from '../../../search/criteria/criteria.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import { isLocal } from '../../evaluate/evaluate-criteria.js';
import type { AccessRule } from '../../rule.js';
import type { CommitState } from './commit-state.js';
import { settledCriteria } from './granting.js';
import type { AddedWrite } from '../ready-write.js';

/**
 * The checks inside the commit: one of the rules must grant the resource in the commit's state. Rules with chains
 * depend on other resources, which may change between decision and commit. For other rules the expected version is
 * enough.
 *
 * @param rules the rules that granted it in the decision
 */
export function confirmGrants(
  state: CommitState,
  rules: readonly AccessRule[],
  { project, type, id }: ResourceKey,
  from: number,
): readonly AddedWrite[] {
  const granting = rules.map(({ criteria }) => settledCriteria(state, criteria));
  if (granting.some(isLocal)) return [];
  const criteria = and([{ kind: 'id', ids: [id] }, not(or(granting))]);
  const write = { kind: 'assert-no-match', query: { project, type, criteria } } as const;
  return [{ role: 'added', write, from, refusal: 'decide again' }];
}
