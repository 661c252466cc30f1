import type { Project, ProjectMembership, User } from '@medplum/fhirtypes';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { FhirError } from '../../fhir/error.js';
import type { Stored } from '../../fhir/resource.js';
import type { WriteResult } from '../../store/write.js';
import {
  assertAccessSize,
  assertNamedExist,
  assertParametersUsed,
  type NamedResource,
} from '../body/assert-settings.js';
import { type InviteBody, type InviteRequest, type InviteDryRun, parseInviteBody } from '../body/invite-body.js';
import { policiesOf } from '../body/membership-settings.js';
import { readAcceptance, newInvitation, type NewInvitation } from '../invitation.js';
import type { EmailOutcome, MailContext } from '../mail/invitation.js';
import { invitationFacts, sendInvitation } from '../mail/send-invitation.js';
import { findInvited } from '../people/find-invited.js';
import { commitPlanned, planSteadily } from '../session/commit-planned.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import {
  copyStored,
  copyWritten,
  openProject,
  type PersonProfile,
  type ProjectSession,
  profileInView,
  readProject,
  targetOf,
} from '../session/project-session.js';
import { type InvitePlan, type Planned, planInvite } from './plan-invite.js';

/** {@link ProjectContext} with the host's way to send e-mail. */
export interface InviteContext extends ProjectContext, MailContext {}

/** The resources that an invite with `dryRun` would create. New ones have a provisional id and no `meta`. */
export interface InvitePreview {
  readonly user: User;
  readonly profile: PersonProfile;
  readonly membership: ProjectMembership;
  /** Which of the three did not exist before. */
  readonly created: { readonly user: boolean; readonly profile: boolean; readonly membership: boolean };
  readonly email: EmailOutcome;
}

/** The result of an invite, as private copies without secrets. */
export interface InviteResult extends InvitePreview {
  readonly user: Stored<User>;
  readonly profile: Stored<PersonProfile>;
  readonly membership: Stored<ProjectMembership>;
}

/**
 * Invites a person into a project: finds or creates the User, the profile and the membership in one atomic commit, then
 * sends an e-mail. Everything is checked before anything is written.
 *
 * Two concurrent invites of the same person create one User and one membership; the second one is treated like a later
 * invite.
 *
 * @throws FhirError `forbidden` - the caller is neither administrator of the project nor super administrator
 * @throws FhirError `invalid` - the body, a resource that the body names, or `context.acceptance`; one issue per field
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `conflict` - the person is a member already, the `externalId` is taken, other profiles have the
 * e-mail address (`details.profiles`); or the project is not active. A failed e-mail is not an error: `email.status`
 * says so, and {@link resendInvitation} sends it again.
 *
 * @example
 * const { membership } = await invite(project, {
 *   resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org',
 *   membership: { access: [{ policy: { reference: 'AccessPolicy/1' } }] },
 * }, { store, caller, mailer });
 */
export function invite(project: ResourceRef, body: InviteDryRun, context: InviteContext): Promise<InvitePreview>;
export function invite(project: ResourceRef, body: InviteBody, context: InviteContext): Promise<InviteResult>;
export function invite(
  project: ResourceRef,
  body: InviteBody | InviteDryRun,
  context: InviteContext,
): Promise<InvitePreview> {
  return projectOperation(context, 'invite', async (facts, bounded) => {
    if (bounded.acceptance !== undefined) readAcceptance(bounded.acceptance);
    const session = await openProject(project, bounded, 'create');
    const result = await carryOut(session, parseInviteBody(bounded.store.model, body), bounded);
    const { user, profile, membership } = result;
    facts.targets = [user, profile, membership].map(targetOf);
    return result;
  });
}

async function carryOut(
  session: ProjectSession,
  request: InviteRequest,
  context: InviteContext,
): Promise<InvitePreview> {
  const invitation = request.dryRun ? undefined : invitationFor(request, context);
  const planned = async (hint?: string): Promise<InvitePlan> => {
    const project = await assertPossible(session, request);
    const invited = await findInvited(session, request, hint);
    return planInvite(session, request, project, invited, invitation);
  };
  if (request.dryRun) return asInviterSees(session, previewOf(await planSteadily(planned, session.options), session));
  const { plan, results } = await commitPlanned(session.guard, planned, session.options);
  const done = resultOf(plan, results, session);
  if (!request.sendEmail) return asInviterSees(session, done);
  const email = await sendInvitation(context, request.email, (to) =>
    invitationFacts(session, to, { ...done, isNewUser: done.created.user, invitation: plan.invitation }),
  );
  return asInviterSees(session, { ...done, email });
}

/** The project, which has everything that the body names. @throws FhirError `not-found`, `conflict`, `invalid` */
async function assertPossible(session: ProjectSession, request: InviteRequest): Promise<Project> {
  const { project } = await readProject(session);
  if (project.active === false) throw new FhirError('conflict', `Project/${session.project} is not active`);
  await assertNamedExist(session, namedIn(request));
  await assertAccessSize(session, request.settings, request.policyPath);
  await assertParametersUsed(session, request.settings, request.policyPath);
  return project;
}

function namedIn(request: InviteRequest): NamedResource[] {
  return [
    ...(request.patient === undefined ? [] : [{ reference: request.patient, path: 'patient' }]),
    ...(request.profile === undefined ? [] : [{ reference: request.profile, path: 'membership.profile' }]),
    ...policiesOf(request.settings, request.policyPath),
  ];
}

/** The invitation to be accepted; undefined without `acceptance`, or if nobody would receive its token. */
function invitationFor(
  { sendEmail, email }: InviteRequest,
  { acceptance, mailer, clock }: InviteContext,
): NewInvitation | undefined {
  if (acceptance === undefined || mailer === undefined || !sendEmail || email === undefined) return undefined;
  return newInvitation(acceptance, clock?.() ?? new Date());
}

/**
 * An existing profile may have elements hidden from the inviter. The User is shown: it is now a member, and
 * administrators see the members of their project.
 */
async function asInviterSees(session: ProjectSession, result: InvitePreview): Promise<InvitePreview> {
  if (result.created.profile || session.view === session.guard) return result;
  return { ...result, profile: copyStored<PersonProfile>(await profileInView(session, result.profile), session) };
}

function previewOf(plan: InvitePlan, session: ProjectSession): InvitePreview {
  return {
    user: copyStored(plan.user.resource, session),
    profile: copyStored(plan.profile.resource, session),
    membership: copyStored(plan.membership.resource, session),
    created: createdBy(plan),
    email: { status: 'skipped', reason: 'dry-run' },
  };
}

function resultOf(plan: InvitePlan, results: readonly WriteResult[], session: ProjectSession): InviteResult {
  return {
    user: storedBy(plan.user, results, session),
    profile: storedBy(plan.profile, results, session),
    membership: storedBy(plan.membership, results, session),
    created: createdBy(plan),
    email: { status: 'skipped', reason: 'not-asked' },
  };
}

function createdBy({ user, profile, membership }: InvitePlan): InvitePreview['created'] {
  return { user: user.created, profile: profile.created, membership: membership.created };
}

/** The resource as it is now: from its write, if it had one. */
function storedBy<Kept extends User | PersonProfile | ProjectMembership>(
  { resource, write }: Planned<Kept>,
  results: readonly WriteResult[],
  session: ProjectSession,
): Stored<Kept> {
  return write === undefined ? copyStored(resource, session) : copyWritten(results[write], session);
}
