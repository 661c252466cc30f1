import { ALL, and, type Criteria } from '../../search/criteria/criteria.js';
import type { CallOptions, ResourceStore } from '../../store/store.js';
import type { Caller } from '../caller.js';
import { MEMBER_USERS } from '../policy/member-users.js';

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
  if (criteria === MEMBER_USERS) {
    const page = await store.search({ project: caller.project, type: 'ProjectMembership', criteria: ALL }, options);
    const ids = page.matches.flatMap(({ resource }) => {
      const user = (resource as { readonly user?: { readonly reference?: string } }).user?.reference;
      return user?.startsWith('User/') === true ? user.slice('User/'.length) : [];
    });
    return { kind: 'id', ids };
  }
  if (criteria.kind !== 'and' && criteria.kind !== 'or') return criteria;
  const of = await Promise.all(criteria.of.map((one) => resolveMemberUsers(store, caller, one, options)));
  if (of.every((one, index) => one === criteria.of[index])) return criteria;
  return criteria.kind === 'and' ? and(of) : { ...criteria, of };
}
