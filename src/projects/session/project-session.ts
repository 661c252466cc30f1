import type {
  Patient,
  Practitioner,
  Project,
  ProjectMembership,
  RelatedPerson,
  Resource,
  User,
} from '@medplum/fhirtypes';
import { type Caller, assertCaller, serverCaller } from '../../access/caller.js';
import type { GuardedStore } from '../../access/contract.js';
import { guardStore } from '../../access/guarded-store.js';
import { leavesOffice } from '../../access/narrow/narrowed-caller.js';
import type { Interaction } from '../../access/rule.js';
import { currentCaller, writesWhile } from '../../access/sign-in/current-caller.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import type { InCall } from '../../access/operation.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import { FhirError } from '../../fhir/error.js';
import { copyForHost } from '../../fhir/json/copy-json.js';
import { nameToId, notFound, splitReference } from '../../fhir/reference.js';
import { type MetaChoice, withChosenMeta } from '../../fhir/own-extensions.js';
import { type AnyResource, elementsOf, type Stored } from '../../fhir/resource.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore, StoreReads } from '../../store/store.js';
import type { WriteResult } from '../../store/write.js';
import type { ProjectContext } from './project-context.js';

/** The resource that represents a person in a project. */
export type PersonProfile = Patient | Practitioner | RelatedPerson;

/** A project opened by a caller who may administer its members. */
export interface ProjectSession {
  /** The id of the project. */
  readonly project: string;
  readonly caller: Caller;
  readonly store: StoreReads;
  /** The project as trusted code sees it; the caller's rights are already checked. Reads contain no secrets. */
  readonly guard: GuardedStore;
  /** The project as the caller itself sees it; undefined for a super administrator from another project, who sees nothing. */
  readonly view: GuardedStore | undefined;
  readonly options: CallOptions;
  /** Resources in results carry `meta.project` and `meta.author`. */
  readonly extendedMeta: boolean;
}

/**
 * Opens a project for those who may administer its members: its administrators, super administrators, trusted code of
 * the project. Callers without the right are rejected before any lookup; then the caller's membership is read again,
 * here and with every commit, since rights may have been revoked since sign-in.
 *
 * A super administrator whose own membership names access policies is bound by them: some rule without conditions must
 * grant the interaction on ProjectMembership.
 *
 * @throws FhirError `unauthenticated`, `forbidden`, and the codes of signing in
 */
export async function openProject(
  project: ResourceRef,
  context: InCall<ProjectContext>,
  interaction: Interaction,
): Promise<ProjectSession> {
  const { store, caller, call, extendedMeta = false } = context;
  assertCaller(caller);
  const id = nameToId(project, 'Project');
  if (!mayAdminister(caller, id, interaction)) {
    throw new FhirError('forbidden', 'Only administrators of the project may administer its members');
  }
  if (id === undefined)
    throw new FhirError('invalid', 'The project must be named by its id, Project/id or a Reference');
  const stillMay = (now: Caller): boolean => mayAdminister(now, id, interaction);
  const current = await currentCaller(store, caller, stillMay, call);
  await assertMayTouchMembers(store, current, id, interaction, call);
  // Policies may have been added to an unrestricted caller since, which then may do less.
  const isUnbound = current.kind === 'member' && !current.bound;
  const writes = writesWhile(store, caller, (now) => stillMay(now) && !(isUnbound && now.bound));
  const guard = guardStore(store, serverCaller(id), { writes });
  const view = current.kind === 'server' ? guard : current.project === id ? guardStore(store, current) : undefined;
  return { project: id, caller: current, store, guard, view, options: call, extendedMeta };
}

/**
 * Opens the project of a membership. Administrators can only open their own project; other memberships do not
 * exist for them.
 *
 * @throws FhirError `unauthenticated`, `forbidden`, `not-found`
 */
export async function openProjectOfMember(
  membership: ResourceRef,
  context: InCall<ProjectContext>,
  interaction: Interaction,
): Promise<{ readonly session: ProjectSession; readonly id: string }> {
  const { store, caller, call } = context;
  assertCaller(caller);
  const home = openable(caller, interaction);
  if (home === undefined) {
    throw new FhirError('forbidden', 'Only administrators of the project may administer its members');
  }
  const id = nameToId(membership, 'ProjectMembership');
  if (id === undefined) {
    throw new FhirError('invalid', 'The membership must be named by its id, ProjectMembership/id or a Reference');
  }
  // Before the answer can reveal the project or the existence of a membership.
  if (home === 'any') await currentCaller(store, caller, (now) => openable(now, interaction) !== undefined, call);
  const project = home === 'own' ? caller.project : await projectOf(store, id, call);
  if (project === undefined) throw notFound({ type: 'ProjectMembership', id });
  return { session: await openProject(project, context, interaction), id };
}

/** The project, without its secrets. @throws FhirError `not-found` */
export async function readProject(
  session: ProjectSession,
): Promise<{ readonly project: Stored<Project>; readonly versionId: string }> {
  const [found] = await session.guard.read([{ type: 'Project', id: session.project }], session.options);
  if (found?.status !== 'found') throw notFound({ type: 'Project', id: session.project });
  return { project: found.resource as Stored<Project>, versionId: found.versionId };
}

/** A membership of the project. @throws FhirError `not-found` */
export async function readMembership(
  session: ProjectSession,
  id: string,
): Promise<{ readonly membership: Stored<ProjectMembership>; readonly versionId: string }> {
  const [found] = await session.guard.read([{ type: 'ProjectMembership', id }], session.options);
  if (found?.status !== 'found') throw notFound({ type: 'ProjectMembership', id });
  return { membership: found.resource as Stored<ProjectMembership>, versionId: found.versionId };
}

/** @returns undefined if there is no such User */
export async function readUser(session: ProjectSession, user: string): Promise<Stored<User> | undefined> {
  const [found] = await session.guard.read([splitReference(user)], session.options);
  return found?.status === 'found' && found.resource.resourceType === 'User'
    ? (found.resource as Stored<User>)
    : undefined;
}

/** @returns undefined if the profile does not exist in this project */
export async function readProfile(
  session: ProjectSession,
  profile: string,
): Promise<Stored<PersonProfile> | undefined> {
  const [found] = await session.guard.read([splitReference(profile)], session.options);
  return found?.status === 'found' ? (found.resource as Stored<PersonProfile>) : undefined;
}

/** A profile as the inviter sees it: without hidden elements, or only its id if all of it is hidden. */
export async function profileInView(session: ProjectSession, profile: PersonProfile): Promise<Stored<PersonProfile>> {
  const { resourceType: type, id } = profile;
  const [seen] = (await session.view?.read([{ type, id: id! }], session.options)) ?? [];
  return (seen?.status === 'found' ? seen.resource : { resourceType: type, id }) as Stored<PersonProfile>;
}

/** A private copy of a stored resource for the caller, under the name of its type. */
export function copyStored<Kept extends Resource>(resource: AnyResource, choice: MetaChoice): Stored<Kept> {
  return copyForHost(withChosenMeta(resource, choice)) as unknown as Stored<Kept>;
}

/** A private copy of a written resource for the caller. */
export function copyWritten<Kept extends Resource>(result: WriteResult | undefined, choice: MetaChoice): Stored<Kept> {
  if (result?.kind === 'put') return copyStored(result.resource, choice);
  throw new FhirError('internal', 'The store answered a put with another result');
}

/** `meta` for what this caller writes through the session: the author, where the caller has a profile in the project. */
export function authored<Written extends AnyResource>(session: ProjectSession, resource: Written): Written {
  const { caller } = session;
  if (caller.kind !== 'member' || caller.project !== session.project) return resource;
  return { ...resource, meta: { ...resource.meta, author: { reference: caller.profile } } };
}

/** A resource as audit records name it. */
export function targetOf({ resourceType, id, meta }: AnyResource): AuditTarget {
  return { type: resourceType, id, versionId: meta?.versionId };
}

function mayAdminister(caller: Caller, project: string | undefined, interaction: Interaction): boolean {
  const reach = openable(caller, interaction);
  return reach === 'any' || (reach === 'own' && project === caller.project);
}

/** The projects that a caller may administer. */
function openable(caller: Caller, interaction: Interaction): 'own' | 'any' | undefined {
  if (caller.kind === 'server') return 'any';
  if (caller.kind === 'system') return 'own';
  if (!leavesOffice(caller, 'ProjectMembership', interaction)) return undefined;
  if (caller.superAdmin && (caller.powers?.has(`ProjectMembership.${interaction}`) ?? true)) return 'any';
  return caller.admin ? 'own' : undefined;
}

async function projectOf(store: ResourceStore, id: string, options: CallOptions): Promise<string | undefined> {
  const [entry] = await store.read([{ project: SERVER_SCOPE, type: 'ProjectMembership', id }], options);
  if (entry?.status !== 'found') return undefined;
  return nameToId((entry.resource as ProjectMembership).project, 'Project');
}

/**
 * Keeps super administrators who are bound by access policies away from those who have super-admin powers: a caller who could
 * make a member, client or Bot of a super-admin project, or change one, could act without any bounds.
 *
 * Searching stays possible, because it grants no rights.
 *
 * @throws FhirError `forbidden` - the project is a super-admin project, and the caller is bound by policies
 */
async function assertMayTouchMembers(
  store: ResourceStore,
  caller: Caller,
  project: string,
  interaction: Interaction,
  options: CallOptions,
): Promise<void> {
  // Other callers only reach their own project, and sign-in verified that it is not a super-admin project.
  if (caller.kind !== 'member' || !caller.superAdmin || caller.powers === undefined || interaction === 'search') return;
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }], options);
  if (found?.status !== 'found' || elementsOf(found.resource)['superAdmin'] !== true) return;
  throw new FhirError(
    'forbidden',
    'Only super administrators without access policies may change the members, clients and Bots of a super-admin project',
  );
}

/**
 * Who invites, for `ProjectMembership.invitedBy`; undefined for trusted code.
 *
 * A client of another project is named by its display text only: its reference would lead astray here.
 */
export function inviterReference({ caller, project }: ProjectSession): ProjectMembership['invitedBy'] {
  if (caller.kind !== 'member') return undefined;
  if (caller.project === project || caller.user.startsWith('User/')) {
    return { reference: caller.user };
  }
  const type = caller.user.startsWith('Bot/') ? 'Bot' : 'ClientApplication';
  return { type, display: `${caller.user} of Project/${caller.project}` };
}
