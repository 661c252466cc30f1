import { elementsOf, type AnyResource } from '../../../fhir/resource.js';
import { referenceText, referenceTo } from '../../../fhir/reference.js';
import { and, not, refersTo } from '../../../search/criteria/criteria.js';
import { SERVER_SCOPE, type ResourceKey } from '../../../store/resource-key.js';
import type { Write } from '../../../store/write.js';
import { formerMembershipWrite } from './former-memberships.js';
import { endInvitation } from './open-invitations.js';
import type { AddedWrite } from '../ready-write.js';

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
