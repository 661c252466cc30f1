import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { membershipMissing } from './find-membership.js';
import { memberReference } from './member-people.js';
import { readMember, type Member, type SessionTerms } from './read-member.js';

/** The current state of a member. */
export interface CurrentState {
  readonly member: Member;
  /** When the membership was last changed: ISO 8601, UTC. */
  readonly lastUpdated: string;
  /** True if the directory above the projects has the membership. */
  readonly isListed: boolean;
}

/** Reads a member again, by the same membership. @throws FhirError the codes of `signIn` */
export async function readMemberAgain(
  store: ResourceStore,
  before: {
    readonly project: string;
    readonly membership: { readonly id?: string | undefined };
    readonly user: string;
  },
  terms: SessionTerms,
): Promise<CurrentState> {
  const { project, user } = before;
  const id = before.membership.id!;
  const key = { type: 'ProjectMembership', id };
  const [found, entry] = await store.read([
    { ...key, project },
    { ...key, project: SERVER_SCOPE },
  ]);
  // The id may have been reused for somebody else.
  if (found?.status !== 'found' || memberReference(found.resource, 'user') !== user) throw membershipMissing(id);
  return {
    member: await readMember(store, { project, membership: found.resource }, terms),
    lastUpdated: found.lastUpdated,
    isListed: entry?.status === 'found',
  };
}
