import type { AuditedCaller, AuditTarget } from '../../audit/audit-record.js';
import { FhirError } from '../../fhir/error.js';
import { nameToId, referenceText, referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { oncePer } from '../../platform/collections.js';
import { or, refersTo, type Criteria, ALL } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore, StoreReads } from '../../store/store.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { isInactive, readActiveProject, membershipMissing, type FoundMembership } from './member.js';

// Which memberships an identity of the host's verified token names.

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
 * @throws FhirError `unauthenticated`, `invalid`, `membership-missing`, `membership-ambiguous`, `project-missing` - see `signIn`
 */
export async function findMembership(
  store: ResourceStore,
  identity: SignInIdentity,
  call: CallOptions | undefined,
): Promise<FoundMembership> {
  const found = await findNamed(store, identity, call);
  assertAgrees(found, identity);
  return found;
}

async function findNamed(
  store: ResourceStore,
  identity: SignInIdentity,
  call: CallOptions | undefined,
): Promise<FoundMembership> {
  if (!isJsonObject(identity)) throw unnamed(identity, 'ProjectMembership', 'ProjectMembership/id');
  if ('membership' in identity) return membershipById(store, requireId(identity.membership, 'ProjectMembership'), call);
  // Without a project, only the external id names a person everywhere; a token that lacks the claim is refused.
  if ('externalId' in identity && !('project' in identity)) return membershipInOneProject(store, identity, call);
  const project = requireId(identity.project, 'Project');
  const criteria = 'client' in identity ? clientCriteria(identity.client) : personCriteria(identity);
  const { matches } = await store.search({ project, type: 'ProjectMembership', criteria }, call);
  // Without members, the project itself may be wrong.
  if (matches.length === 0) await readActiveProject(store, project, call);
  return { project, membership: chooseMembership(matches, project) };
}

/**
 * The membership of a person who belongs to one project. Memberships that cannot be used count only if there is no other
 * one. The errors name no project, so they reveal nothing about the others.
 */
async function membershipInOneProject(
  store: ResourceStore,
  identity: PersonIdentity,
  call: CallOptions | undefined,
): Promise<FoundMembership> {
  const found = await membershipsOf(store, identity, call);
  const usable = await usableMemberships(store, found, call);
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
async function membershipById(
  store: ResourceStore,
  id: string,
  call: CallOptions | undefined,
): Promise<FoundMembership> {
  const [entry] = await store.read([{ project: SERVER_SCOPE, type: 'ProjectMembership', id }], call);
  if (entry?.status === 'found') {
    const project = nameToId(elementsOf(entry.resource)['project'], 'Project');
    if (project !== undefined) {
      const [found] = await store.read([{ project, type: 'ProjectMembership', id }], call);
      if (found?.status === 'found') return { project, membership: found.resource };
    }
  }
  throw membershipMissing(id);
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

/** A person's identity in the host's verified token. */
export type PersonIdentity = { readonly user: ResourceRef } | { readonly externalId: string };

/**
 * The memberships of a person in all projects, inactive ones included, by the directory above the projects.
 *
 * Entries that older versions wrote do not name the person. While such entries exist, each project is searched.
 *
 * @throws FhirError `unauthenticated`, `invalid` - the identity is empty
 */
export async function membershipsOf(
  store: StoreReads,
  identity: PersonIdentity,
  call: CallOptions | undefined,
): Promise<readonly FoundMembership[]> {
  const criteria = personCriteria(identity);
  if (!(await isComplete(store, call))) return searchEachProject(store, criteria, call);
  const { matches } = await store.search({ project: SERVER_SCOPE, type: 'ProjectMembership', criteria }, call);
  const keys = matches.flatMap(({ resource }) => {
    const project = nameToId(elementsOf(resource)['project'], 'Project');
    return project === undefined ? [] : [{ project, type: 'ProjectMembership', id: resource.id! }];
  });
  const found = await store.read(keys, call);
  return found.flatMap((one, index) =>
    one.status === 'found' ? [{ project: keys[index]!.project, membership: one.resource }] : [],
  );
}

/** Finds a person's memberships, in a project or in the directory. @throws FhirError `unauthenticated`, `invalid` */
function personCriteria(identity: PersonIdentity): Criteria {
  if ('user' in identity) return refersTo('user', { type: 'User', id: requireId(identity.user, 'User') });
  const text = requireExternalId(identity.externalId);
  return { kind: 'match', parameter: 'external-id', test: { kind: 'string', comparator: 'exact', text } };
}

async function searchEachProject(
  store: StoreReads,
  criteria: Criteria,
  call: CallOptions | undefined,
): Promise<readonly FoundMembership[]> {
  const { matches: projects } = await store.search({ project: SERVER_SCOPE, type: 'Project', criteria: ALL }, call);
  const found: FoundMembership[] = [];
  for (const { resource } of projects) {
    const project = resource.id!;
    const { matches } = await store.search({ project, type: 'ProjectMembership', criteria }, call);
    found.push(...matches.map(({ resource: membership }) => ({ project, membership })));
  }
  return found;
}

/**
 * Whether every entry of the directory names its person.
 *
 * Looking for an entry without a person visits all of them, so the answer is kept. New entries are complete, but a
 * database that is put back to an earlier copy may have old entries again, and then it has another epoch.
 */
async function isComplete(store: StoreReads, call: CallOptions | undefined): Promise<boolean> {
  const epoch = store.readsAreCurrent === true ? await store.accessEpoch?.(call) : undefined;
  if (epoch !== undefined && directoryOf(store).completeIn === epoch) return true;
  const nobody: Criteria = { kind: 'missing', parameter: 'user', missing: true };
  const query = { project: SERVER_SCOPE, type: 'ProjectMembership', criteria: nobody, limit: 1 };
  if ((await store.search(query, call)).matches.length > 0) return false;
  if (epoch !== undefined && (await store.accessEpoch?.(call)) === epoch) directoryOf(store).completeIn = epoch;
  return true;
}

/** The epoch in which the directory of a store was complete. */
const directoryOf = oncePer((_store: StoreReads): { completeIn?: string } => ({}));

/** Those of the memberships that are active, in active projects. */
export async function usableMemberships<Found extends FoundMembership>(
  store: ResourceStore,
  found: readonly Found[],
  call: CallOptions | undefined,
): Promise<readonly Found[]> {
  const active = found.filter(({ membership }) => !isInactive(membership));
  const keys = active.map(({ project: id }) => ({ project: SERVER_SCOPE, type: 'Project', id }));
  const projects = await store.read(keys, call);
  return active.filter((_, index) => {
    const project = projects[index]!;
    return project.status === 'found' && !isInactive(project.resource);
  });
}

/** An id, a `Type/id`, or a Reference. */
export type ResourceRef = string | { readonly reference?: string | undefined };

/** The id in a name given to sign-in. @throws FhirError `unauthenticated` - missing; `invalid` - malformed */
function requireId(name: ResourceRef, type: string): string {
  const id = nameToId(name, type);
  if (id !== undefined) return id;
  throw unnamed(name, type, `${type}/id`);
}

/** A token without the claim does not identify anybody. */
function unnamed(name: unknown, type: string, form: string): FhirError {
  return new FhirError(codeFor(name), `Sign-in needs the id of a ${type}, as id, ${form} or Reference`);
}

/** The text of an external id given to sign-in. @throws FhirError `unauthenticated` - missing; `invalid` - no text */
export function requireExternalId(externalId: unknown): string {
  if (typeof externalId === 'string' && externalId !== '') return externalId;
  throw new FhirError(codeFor(externalId), 'Sign-in needs the externalId as a string');
}

function codeFor(name: unknown): 'unauthenticated' | 'invalid' {
  return name === undefined || name === null || name === '' ? 'unauthenticated' : 'invalid';
}

const NAMED = [
  ['project', 'Project'],
  ['membership', 'ProjectMembership'],
  ['user', 'User'],
  ['client', 'ClientApplication'],
  ['client', 'Bot'],
] as const;

/** The resources that an identity names, for audit records; external ids are left out. */
export function namedBy(identity: unknown): readonly AuditTarget[] {
  if (!isJsonObject(identity)) return [];
  return NAMED.flatMap(([name, type]) => {
    const id = nameToId(identity[name], type);
    return id === undefined ? [] : [{ type, id }];
  });
}

/** Nobody yet, with the project that the identity names. */
export function strangerOf(targets: readonly AuditTarget[]): AuditedCaller {
  const project = targets.find(({ type }) => type === 'Project')?.id;
  return { kind: 'unknown', project };
}
