import type { ProjectMembership, Reference } from '@medplum/fhirtypes';
import type { Clearance } from '../../access/narrowing.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { endInvitation } from '../../access/write/membership-records.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { nameToId, notFound } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/resource.js';
import {
  assertAccessSize,
  assertNamedExist,
  assertParametersUsed,
  policyExistenceChecks,
} from '../body/assert-settings.js';
import { assertBody, BodyReader } from '../body/body-reader.js';
import type { AccessChoice, MembershipIdentifier } from '../body/invite-body.js';
import {
  MEMBERSHIP_FIELDS,
  type MembershipSettings,
  policiesOf,
  readMembershipSettings,
  withSettings,
} from '../body/membership-settings.js';
import { withoutInvitation } from '../invitation.js';
import { membershipByExternalId } from '../people/find-people.js';
import { keepAnAdministrator } from '../session/administrators.js';
import { commitPlanned, type PlannedWrites } from '../session/commit-planned.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import {
  authored,
  copyStored,
  openProject,
  openProjectOfMember,
  type ProjectSession,
  readMembership,
  targetOf,
} from '../session/project-session.js';

/** The changes of a membership. Absent: unchanged. Null, or an empty list: removed. */
export interface MemberChanges {
  admin?: boolean | undefined;
  active?: boolean | undefined;
  accessPolicy?: Reference | null | undefined;
  access?: AccessChoice[] | null | undefined;
  externalId?: string | null | undefined;
  userName?: string | null | undefined;
  userConfiguration?: Reference | null | undefined;
  identifier?: MembershipIdentifier[] | null | undefined;
  /** When the access ends, as a time with its zone: `2030-01-31T18:00:00Z`. */
  expires?: string | null | undefined;
  /** The labels of resources that the member is cleared for; null: all. */
  clearance?: Clearance[] | null | undefined;
}

/**
 * Changes a member's rights and settings. Who the member is (project, User, profile) never changes.
 *
 * @param membership its id, `ProjectMembership/id` or a Reference
 * @returns the membership as it is now, a private copy
 * @throws FhirError `forbidden` - the caller is not an administrator, or would demote or deactivate itself
 * @throws FhirError `not-found` - no such membership in the caller's project
 * @throws FhirError `invalid` - the changes, or a policy that does not exist in the project; one issue per field
 * @throws FhirError `conflict` - the project would lose its last administrator, or the `externalId` is taken
 *
 * @example
 * await updateMember(membership, { active: false }, { store, caller });
 */
export function updateMember(
  membership: ResourceRef,
  changes: MemberChanges,
  context: ProjectContext,
): Promise<Stored<ProjectMembership>> {
  return projectOperation(context, 'update-member', async (facts, bounded) => {
    const { session, id } = await openProjectOfMember(membership, bounded, 'update');
    facts.targets = [{ type: 'ProjectMembership', id }];
    const settings = parseChanges(bounded.store.model, changes);
    const { plan, results } = await commitPlanned(
      session.guard,
      () => planUpdate(session, id, settings),
      session.options,
    );
    const written = results[plan.write];
    const updated = copyStored<ProjectMembership>(
      written?.kind === 'put' ? written.resource : plan.membership,
      session,
    );
    facts.targets = [targetOf(updated)];
    return updated;
  });
}

interface UpdatePlan extends PlannedWrites {
  readonly membership: ProjectMembership;
  /** The position of the membership's write; beyond the end if nothing changes. */
  readonly write: number;
}

async function planUpdate(session: ProjectSession, id: string, settings: MembershipSettings): Promise<UpdatePlan> {
  const { membership: before, versionId } = await readMembership(session, id);
  const settled = withSettings(before, settings);
  // Linking the person directly ends the invitation.
  const isLinked = settings.externalId != null && before.externalId === undefined;
  const membership = isLinked ? withoutInvitation(settled) : settled;
  if (sameJson(before, membership)) return { membership, writes: [], write: 0 };
  await assertNamedExist(session, policiesOf(settings, ''));
  // Parameters accepted by older versions may be sent back unchanged.
  if (!sameJson(before.access, membership.access)) {
    await assertAccessSize(session, settings, '');
    await assertParametersUsed(session, settings, '');
  }
  await assertExternalIdFree(session, id, settings);
  const guards = await keepAnAdministrator(session, before, membership);
  const key = { type: 'ProjectMembership', id };
  const put = {
    kind: 'put',
    key,
    resource: authored(session, membership),
    expect: { version: versionId },
    records: isLinked ? [endInvitation(id)] : [],
  } as const;
  return { membership, writes: [...guards, put, ...policyExistenceChecks(id, settings)], write: guards.length };
}

function parseChanges(model: FhirModel, changes: unknown): MembershipSettings {
  const body = assertBody(changes, 'A change of a member');
  const reader = new BodyReader(model);
  reader.known(body, '', MEMBERSHIP_FIELDS);
  const settings = readMembershipSettings(reader, body, '', true);
  reader.assertGood('The member cannot be changed');
  return settings;
}

async function assertExternalIdFree(
  session: ProjectSession,
  id: string,
  { externalId }: MembershipSettings,
): Promise<void> {
  const holder = externalId == null ? undefined : await membershipByExternalId(session, externalId);
  if (holder === undefined || holder.id === id) return;
  throw new FhirError('conflict', `ProjectMembership/${holder.id} of this project has this externalId already`);
}

/**
 * A member of a project, for those who may administer it.
 *
 * @throws FhirError `forbidden` - the caller may not administer the members of this project
 * @throws FhirError `not-found` - the project has no such membership
 */
export function readMember(
  project: string,
  membership: string,
  context: ProjectContext,
): Promise<Stored<ProjectMembership>> {
  return projectOperation(context, 'read', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'read');
    const id = nameToId(membership, 'ProjectMembership');
    facts.targets = [{ type: 'ProjectMembership', id }];
    if (id === undefined) throw notFound({ type: 'ProjectMembership', id: 'given' });
    return copyStored<ProjectMembership>((await readMembership(session, id)).membership, session);
  });
}

/**
 * Removes a member from its project. The profile and the User stay; a new invitation of the person finds both.
 *
 * @param membership its id, `ProjectMembership/id` or a Reference
 * @throws FhirError `forbidden` - the caller is not an administrator, or would remove itself
 * @throws FhirError `not-found` - no such membership in the caller's project
 * @throws FhirError `conflict` - it is the last administrator of the project
 *
 * @example
 * await removeMember(membership, { store, caller });
 */
export function removeMember(membership: ResourceRef, context: ProjectContext): Promise<void> {
  return projectOperation(context, 'remove-member', async (facts, bounded) => {
    const { session, id } = await openProjectOfMember(membership, bounded, 'delete');
    facts.targets = [{ type: 'ProjectMembership', id }];
    await commitPlanned(session.guard, () => planRemoval(session, id), session.options);
  });
}

async function planRemoval(session: ProjectSession, id: string): Promise<PlannedWrites> {
  const { membership, versionId } = await readMembership(session, id);
  const guards = await keepAnAdministrator(session, membership, undefined);
  const key = { type: 'ProjectMembership', id };
  return { writes: [...guards, { kind: 'delete', key, expect: { version: versionId } }] };
}
