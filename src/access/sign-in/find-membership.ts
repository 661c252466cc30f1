import { FhirError } from '../../fhir/error.js';
import { nameToId, referenceText, referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { or, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { isInactive, readActiveProject } from './active-project.js';
import { membershipsOf, personCriteria, type FoundMembership, type PersonIdentity } from './memberships-of.js';
import { requireId, unnamed, type ResourceRef } from './resource-ref.js';
import { usableMemberships } from './usable-memberships.js';

/** The identity in the host's verified token. */
export type SignInIdentity =
  | { readonly membership: ResourceRef }
  | { readonly project: ResourceRef; readonly user: ResourceRef }
  | { readonly project: ResourceRef; readonly client: ResourceRef }
  | {
      readonly project: ResourceRef;
      /** The person's id with the host's identity provider: `ProjectMembership.externalId`. */
      readonly externalId: string;
    }
  | {
      /** Without a project, the person must be a member of only one project. */
      readonly externalId: string;
    };

/**
 * Finds the membership of an identity. Inactive ones are considered only if there is no active one. An identity may have
 * more names than it needs, as `listMemberships` and `acceptInvitation` give them; they must be those of one member.
 *
 * @param opened the store as the host opened it
 * @throws FhirError `unauthenticated`, `invalid`, `membership-missing`, `membership-ambiguous`, `project-missing` - see `signIn`
 */
export async function findMembership(
  store: ResourceStore,
  identity: SignInIdentity,
  opened: ResourceStore,
): Promise<FoundMembership> {
  const found = await findNamed(store, identity, opened);
  assertAgrees(found, identity);
  return found;
}

async function findNamed(
  store: ResourceStore,
  identity: SignInIdentity,
  opened: ResourceStore,
): Promise<FoundMembership> {
  if (!isJsonObject(identity)) throw unnamed(identity, 'ProjectMembership', 'ProjectMembership/id');
  if ('membership' in identity) return membershipById(store, requireId(identity.membership, 'ProjectMembership'));
  // Without a project, only the external id names a person everywhere; a token that lacks the claim is refused.
  if ('externalId' in identity && !('project' in identity)) return membershipInOneProject(store, identity, opened);
  const project = requireId(identity.project, 'Project');
  const criteria = 'client' in identity ? clientCriteria(identity.client) : personCriteria(identity);
  const { matches } = await store.search({ project, type: 'ProjectMembership', criteria });
  // Without members, the project itself may be wrong.
  if (matches.length === 0) await readActiveProject(store, project);
  return { project, membership: chooseMembership(matches, project) };
}

/**
 * The membership of a person who belongs to one project. Memberships that cannot be used count only if there is no other
 * one. The errors name no project, so they reveal nothing about the others.
 */
async function membershipInOneProject(
  store: ResourceStore,
  identity: PersonIdentity,
  opened: ResourceStore,
): Promise<FoundMembership> {
  const found = await membershipsOf(store, identity, opened);
  const usable = await usableMemberships(store, found);
  if (usable.length > 1) {
    throw new FhirError(
      'membership-ambiguous',
      'The person has several memberships; name the project, or one of those that listMemberships finds',
    );
  }
  const candidate = usable[0] ?? found[0];
  if (candidate === undefined) throw new FhirError('membership-missing', 'No such member in any project');
  return candidate;
}

/**
 * Asserts that every name in the identity is one of the member that was found by some of them. Of two members the host
 * would not learn which one signed in.
 *
 * @throws FhirError `membership-missing`
 */
function assertAgrees(found: FoundMembership, identity: object): void {
  const { project, user, client, externalId } = identity as { readonly [name: string]: ResourceRef | undefined };
  const elements = elementsOf(found.membership);
  const isUser = (types: readonly string[], name: ResourceRef): boolean =>
    types.some(
      (type) => nameToId(name, type) !== undefined && nameToId(elements['user'], type) === nameToId(name, type),
    );
  const agrees =
    (project === undefined || nameToId(project, 'Project') === found.project) &&
    (user === undefined || isUser(['User'], user)) &&
    (client === undefined || isUser(['ClientApplication', 'Bot'], client)) &&
    (externalId === undefined || elements['externalId'] === externalId);
  if (!agrees) throw new FhirError('membership-missing', 'The names of this identity belong to different members');
}

/** A membership lives in its project; the directory above projects has the project's id. */
async function membershipById(store: ResourceStore, id: string): Promise<FoundMembership> {
  const [entry] = await store.read([{ project: SERVER_SCOPE, type: 'ProjectMembership', id }]);
  if (entry?.status === 'found') {
    const project = nameToId(elementsOf(entry.resource)['project'], 'Project');
    if (project !== undefined) {
      const [found] = await store.read([{ project, type: 'ProjectMembership', id }]);
      if (found?.status === 'found') return { project, membership: found.resource };
    }
  }
  throw membershipMissing(id);
}

export function membershipMissing(id: string): FhirError {
  return new FhirError('membership-missing', `ProjectMembership/${id} was not found`);
}

function chooseMembership(found: readonly StoredResource[], project: string): AnyResource {
  const active = found.filter(({ resource }) => !isInactive(resource));
  const [candidate] = active.length > 0 ? active : found;
  if (candidate === undefined) throw new FhirError('membership-missing', `No such member in Project/${project}`);
  if (active.length > 1) {
    const memberships = active.map(({ resource }) => ({
      membership: referenceTo('ProjectMembership', resource.id!),
      profile: referenceText(elementsOf(resource)['profile']),
    }));
    throw new FhirError(
      'membership-ambiguous',
      `The user has ${active.length} memberships in Project/${project}; sign in with one of them: ${memberships.map(({ membership }) => membership).join(', ')}`,
      { details: { memberships } },
    );
  }
  return candidate.resource;
}

/** A client is named by `ClientApplication/1` or `Bot/1`; a bare id may be either. */
function clientCriteria(client: ResourceRef): Criteria {
  const named = ['ClientApplication', 'Bot'].flatMap((type) => {
    const id = nameToId(client, type);
    return id === undefined ? [] : [refersTo('user', { type, id })];
  });
  if (named.length > 0) return or(named);
  throw unnamed(client, 'ClientApplication or Bot', 'Type/id');
}
