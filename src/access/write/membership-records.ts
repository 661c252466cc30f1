import { referenceText, referenceTo, nameToId } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { sha256Of } from '../../platform/crypto.js';
import { and, not, refersTo } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE, type ResourceKey } from '../../store/resource-key.js';
import type { StoreReads } from '../../store/store.js';
import type { Write, PutWrite, DeleteWrite, Expectation } from '../../store/write.js';
import type { AddedWrite } from './ready-write.js';

// Memberships live in their projects. A directory above the projects maps each membership to its project, so that the
// membership's id is enough to sign in. Ids of memberships are therefore unique across projects. An entry also names the
// person, so that one search finds their memberships in all projects; entries of older versions do not.

/** The directory entry of a written membership. */
export function directoryEntry(key: ResourceKey, from: number, membership: AnyResource): readonly AddedWrite[] {
  const elsewhere = and([
    { kind: 'id', ids: [key.id] },
    not(refersTo('project', { type: 'Project', id: key.project })),
  ]);
  const project = { reference: referenceTo('Project', key.project) };
  const { user, externalId } = elementsOf(membership);
  const reference = referenceText(user);
  const resource: AnyResource & { readonly [name: string]: unknown } = {
    resourceType: key.type,
    id: key.id,
    project,
    ...(reference === undefined ? {} : { user: { reference } }),
    ...(typeof externalId === 'string' ? { externalId } : {}),
  };
  const writes: Write[] = [
    { kind: 'assert-no-match', query: { project: SERVER_SCOPE, type: key.type, criteria: elsewhere } },
    { kind: 'put', key: { ...key, project: SERVER_SCOPE }, resource },
  ];
  return writes.map((write) => ({ role: 'added', write, from }));
}

/**
 * Removes the entry of a membership that is deleted, and records what the membership linked.
 *
 * @param before the membership; null if this project has no such membership and the entry belongs to another one
 */
export function directoryRemoval(key: ResourceKey, from: number, before: AnyResource | null): readonly AddedWrite[] {
  if (before === null) return [];
  const former = formerMembershipWrite(key.project, before);
  const removal: Write = { kind: 'delete', key: { ...key, project: SERVER_SCOPE } };
  return [removal, endInvitation(key.id), ...(former === undefined ? [] : [former])].map((write) => ({
    role: 'added',
    write,
    from,
  }));
}

/**
 * The scope of the records of removed memberships. An id never contains a slash, so no caller has this project: only
 * this file writes and reads the records, and no search, chain or `_has` of a caller reaches them. Deleting a project
 * removes them.
 */
export const FORMER_MEMBERSHIPS = '/former-memberships';

/**
 * Records that a membership was removed, for the same commit: a deleted membership cannot be searched.
 *
 * ```
 * { resourceType: 'ProjectMembership', active: false, project: 'Project/1', user: 'User/1', profile: 'Patient/1' }
 * ```
 *
 * @returns undefined for a client or Bot, which is its own profile
 */
export function formerMembershipWrite(project: string, membership: AnyResource): PutWrite | undefined {
  const elements = elementsOf(membership);
  const user = referenceText(elements['user']);
  const profile = referenceText(elements['profile']);
  if (user?.startsWith('User/') !== true || profile === undefined) return undefined;
  // One record per link: repeated removals of the same person leave one.
  const id = sha256Of(JSON.stringify([project, user, profile]));
  return {
    kind: 'put',
    key: { project: FORMER_MEMBERSHIPS, type: 'ProjectMembership', id },
    resource: {
      resourceType: 'ProjectMembership',
      id,
      active: false,
      project: { reference: referenceTo('Project', project) },
      user: { reference: user },
      profile: { reference: profile },
    } as AnyResource,
  };
}

/**
 * The profiles, as `Type/id`, that removed memberships of a User in a project had. They may not exist any more.
 *
 * Memberships that older versions removed have no records.
 */
export async function formerProfiles(
  store: StoreReads,
  project: string,
  user: string,
  options: CallOptions | undefined,
): Promise<readonly string[]> {
  const criteria = and([
    refersTo('user', { type: 'User', id: user }),
    refersTo('project', { type: 'Project', id: project }),
  ]);
  const { matches } = await store.search({ project: FORMER_MEMBERSHIPS, type: 'ProjectMembership', criteria }, options);
  return matches.flatMap(({ resource }) => referenceText(elementsOf(resource)['profile']) ?? []);
}

/**
 * The scope of open invitations. An id never contains a slash, so no caller has this project: no read, search or export
 * of a caller reaches the hash of a token.
 */
const OPEN_INVITATIONS = '/invitations';

/** An invitation that was not accepted yet. There is one per membership at most. */
export interface OpenInvitation {
  /** The id of the project. */
  readonly project: string;
  /** The SHA-256 of the secret, in hex. */
  readonly hash: string;
  /** ISO 8601 instant, UTC. */
  readonly expires: string;
  /** How often somebody failed to accept it. */
  readonly failures: number;
}

/** @param membership its id */
export function invitationKey(membership: string): ResourceKey {
  return { project: OPEN_INVITATIONS, type: 'UserSecurityRequest', id: membership };
}

/** Stores an invitation in place of the one that the membership has. */
export function putInvitation(membership: string, invitation: OpenInvitation, expect?: Expectation): PutWrite {
  const { project, hash, expires, failures } = invitation;
  const key = invitationKey(membership);
  const resource = {
    resourceType: 'UserSecurityRequest',
    id: membership,
    type: 'invite',
    project: { reference: referenceTo('Project', project) },
    secret: hash,
    expiresAt: expires,
    failures,
  };
  return { kind: 'put', key, resource, expect };
}

/** Ends the invitation of a membership. Does nothing for a membership without an invitation. */
export function endInvitation(membership: string, expect?: Expectation): DeleteWrite {
  return { kind: 'delete', key: invitationKey(membership), expect };
}

/** @returns undefined for a record that no version of this library wrote */
export function invitationIn(record: AnyResource): OpenInvitation | undefined {
  const { project: home, secret: hash, expiresAt: expires, failures } = elementsOf(record);
  const project = nameToId(home, 'Project');
  if (project === undefined || typeof hash !== 'string' || typeof expires !== 'string') return undefined;
  return { project, hash, expires, failures: Number(failures) };
}
