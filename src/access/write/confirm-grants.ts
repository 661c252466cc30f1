import { and, not, or } from '../../search/criteria/criteria.js';
import type { ResourceKey, ResourceStore } from '../../store/store.js';
import type { MemberCaller } from '../caller.js';
import { isLocal } from '../evaluate/evaluate-criteria.js';
import { resolveMemberUsers } from '../evaluate/member-users.js';
import type { AccessRule } from '../rule.js';
import type { ReadyWrite } from './ready-write.js';

/**
 * What must hold in the commit itself: one of the rules grants the resource, as the commit has it so far. Rules with
 * chains rest on other resources, which someone may change between decision and commit. For the others the version that
 * the write expects is enough.
 *
 * @param rules those that the decision found to grant it
 */
export async function confirmGrants(
  rules: readonly AccessRule[],
  key: ResourceKey,
  from: number,
  { store, caller }: { readonly store: ResourceStore; readonly caller: MemberCaller },
): Promise<readonly ReadyWrite[]> {
  const granting = await Promise.all(
    rules.map(({ criteria }) => resolveMemberUsers(store, caller, criteria, undefined)),
  );
  if (granting.some(isLocal)) return [];
  const { project, type, id } = key;
  const criteria = and([{ kind: 'id', ids: [id] }, not(or(granting))]);
  const write = { kind: 'unmatched', query: { project, type, criteria } } as const;
  return [{ write, from, rulesForAnswer: [], refusal: 'decide again' }];
}
