import { FhirError } from '../../fhir/error.js';
import { idOf, nameToId, referenceText, referenceTo, splitReference } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { or, refersTo } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE, type ResourceStore, type StoredResource } from '../../store/store.js';
import { isInactive, readActiveProject } from './active-project.js';

/** An id, a `Type/id`, or a Reference. */
export type ResourceRef = string | { readonly reference?: string | undefined };

/** The identity in the host's verified token. */
export type SignInIdentity =
  | { readonly membership: ResourceRef }
  | { readonly project: ResourceRef; readonly user: ResourceRef }
  | { readonly project: ResourceRef; readonly client: ResourceRef };

export interface FoundMembership {
  readonly project: string;
  readonly membership: AnyResource;
}

/**
 * Finds the membership of an identity. Inactive ones are considered only if there is no active one.
 *
 * @throws FhirError `unauthenticated`, `invalid`, `membership-missing`, `membership-ambiguous`, `project-missing` - see `signIn`
 */
export async function findMembership(store: ResourceStore, identity: SignInIdentity): Promise<FoundMembership> {
  if (!isJsonObject(identity)) throw unnamed(identity, 'ProjectMembership', 'ProjectMembership/id');
  if ('membership' in identity) return membershipById(store, requireId(identity.membership, 'ProjectMembership'));
  const project = requireId(identity.project, 'Project');
  const users =
    'user' in identity
      ? [referenceTo('User', requireId(identity.user, 'User'))]
      : clientTypes(identity.client).map((type) => referenceTo(type, requireId(identity.client, type)));
  const criteria = or(users.map((user) => refersTo('user', splitReference(user))));
  const { matches } = await store.search({ project, type: 'ProjectMembership', criteria });
  // Without members, the project itself may be wrong.
  if (matches.length === 0) await readActiveProject(store, project);
  return { project, membership: chooseMembership(matches, project) };
}

/** A membership lives in its project; the directory above projects has the project's id. */
async function membershipById(store: ResourceStore, id: string): Promise<FoundMembership> {
  const [entry] = await store.read([{ project: SERVER_SCOPE, type: 'ProjectMembership', id }]);
  if (entry?.status === 'found') {
    const project = idOf(referenceText(elementsOf(entry.resource)['project']) ?? '', 'Project');
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
function clientTypes(client: ResourceRef): readonly string[] {
  const types = ['ClientApplication', 'Bot'].filter((type) => nameToId(client, type) !== undefined);
  if (types.length > 0) return types;
  throw unnamed(client, 'ClientApplication or Bot', 'Type/id');
}

function requireId(name: ResourceRef, type: string): string {
  const id = nameToId(name, type);
  if (id !== undefined) return id;
  throw unnamed(name, type, `${type}/id`);
}

/** A token that lacks a claim does not say who asks. */
function unnamed(name: unknown, type: string, form: string): FhirError {
  const isMissing = name === undefined || name === null || name === '';
  const code = isMissing ? 'unauthenticated' : 'invalid';
  return new FhirError(code, `Sign-in needs the id of a ${type}, as id, ${form} or Reference`);
}
