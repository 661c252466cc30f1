import { parseReference, referenceText } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { ALL, type Criteria } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ResourceStore } from '../../store/store.js';
import type { Caller } from '../caller.js';
import { MEMBER_USERS } from '../policy/default-rules.js';

/**
 * Replaces {@link MEMBER_USERS} by the Users' ids: Users live above projects and memberships inside them, and no store
 * looks across.
 */
export async function resolveMemberUsers(
  store: ResourceStore,
  caller: Caller,
  criteria: Criteria,
  options: CallOptions | undefined,
): Promise<Criteria> {
  if (!mentionsMemberUsers(criteria)) return criteria;
  return withMemberUsers(criteria, await loadMemberUsers(store, caller, options));
}

/** The Users who are members of the caller's project. */
export async function loadMemberUsers(
  store: ResourceStore,
  caller: Caller,
  options: CallOptions | undefined,
): Promise<Criteria> {
  const page = await store.search({ project: caller.project, type: 'ProjectMembership', criteria: ALL }, options);
  const ids = page.matches.flatMap(({ resource }) => {
    const user = parseReference(referenceText(elementsOf(resource)['user']) ?? '', store.model.baseUrl);
    return user?.kind === 'local' && user.type === 'User' ? user.id : [];
  });
  return { kind: 'id', ids };
}

/** The criteria with these Users in the place of {@link MEMBER_USERS}. */
export function withMemberUsers(criteria: Criteria, users: Criteria): Criteria {
  if (criteria === MEMBER_USERS) return users;
  if (!mentionsMemberUsers(criteria) || (criteria.kind !== 'and' && criteria.kind !== 'or')) return criteria;
  const of = criteria.of.map((one) => withMemberUsers(one, users));
  return { ...criteria, of };
}

/** Policies cannot contain it, so it only appears next to other conditions, never inside a chain. */
export function mentionsMemberUsers(criteria: Criteria): boolean {
  if (criteria === MEMBER_USERS) return true;
  return (criteria.kind === 'and' || criteria.kind === 'or') && criteria.of.some(mentionsMemberUsers);
}
