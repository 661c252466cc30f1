import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { audited } from '../../access/audited.js';
import type { WriteResult } from '../../store/store.js';
import { type PersonProfile, profileInView } from '../people/find-people.js';
import { invitationFacts } from '../mail/invitation-facts.js';
import { type InviteBody, type InviteRequest, parseInviteBody } from '../body/invite-body.js';
import { sendInvitation } from '../mail/mailer.js';
import { type EmailOutcome, type MailContext } from '../mail/invitation.js';
import { type InvitePlan, type Planned, planInvite } from './plan-invite.js';
import type { ProjectContext, ResourceRef } from '../session/project-context.js';
import { copyAs, openProject, type ProjectSession, targetOf } from '../session/project-session.js';
import { commitPlanned } from '../session/retry-conflicts.js';

/** {@link ProjectContext} with the host's way to send e-mail. */
export interface InviteContext extends ProjectContext, MailContext {}

/** What an invite left behind, as private copies without secrets. */
export interface InviteResult {
  readonly user: User;
  readonly profile: PersonProfile;
  readonly membership: ProjectMembership;
  /** Which of the three did not exist before. */
  readonly created: { readonly user: boolean; readonly profile: boolean; readonly membership: boolean };
  readonly email: EmailOutcome;
}

/**
 * Invites a person into a project: finds or makes the User, the profile and the membership in one atomic commit, then sends
 * an e-mail. Everything is checked before anything is written.
 *
 * Two invites of the same person at once make one User and one membership; the second is then as any later one.
 *
 * @throws FhirError `forbidden` - the caller is neither administrator of the project nor super administrator
 * @throws FhirError `invalid` - the body, or what it names in the project; one issue per field
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `conflict` - the person is a member already, the `externalId` is taken, other profiles have the e-mail
 * address (`details.profiles`); or the project is not active
 * A failed e-mail is no error: `email.status` tells, and {@link resendInvitation} sends it again.
 *
 * @example
 * const { membership } = await invite(project, {
 *   resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org',
 *   membership: { access: [{ policy: { reference: 'AccessPolicy/1' } }] },
 * }, { store, caller, mailer });
 */
export function invite(project: ResourceRef, body: InviteBody, context: InviteContext): Promise<InviteResult> {
  return audited(context, 'invite', async (facts) => {
    const session = await openProject(project, context, 'create');
    const result = await carryOut(session, parseInviteBody(body), context);
    const { user, profile, membership } = result;
    facts.targets = [user, profile, membership].map(targetOf);
    return result;
  });
}

async function carryOut(
  session: ProjectSession,
  request: InviteRequest,
  context: InviteContext,
): Promise<InviteResult> {
  if (request.dryRun) {
    const planned = resultOf(await planInvite(session, request), [], { status: 'skipped', reason: 'dry-run' });
    return asInviterSees(session, planned);
  }
  const { plan, results } = await commitPlanned(
    session.guard,
    (hint) => planInvite(session, request, hint),
    session.options,
  );
  const done = resultOf(plan, results, { status: 'skipped', reason: 'not-asked' });
  if (!request.sendEmail) return asInviterSees(session, done);
  const email = await sendInvitation(context, request.email, (to) =>
    invitationFacts(session, to, { ...done, isNewUser: done.created.user }),
  );
  return asInviterSees(session, { ...done, email });
}

/**
 * A profile that was there before may hold what is hidden from the inviter. The User is shown: from now on it is a member,
 * and administrators see the members of their project.
 */
async function asInviterSees(session: ProjectSession, result: InviteResult): Promise<InviteResult> {
  if (result.created.profile || session.view === session.guard) return result;
  return { ...result, profile: copyAs<PersonProfile>(await profileInView(session, result.profile)) };
}

function resultOf(plan: InvitePlan, results: readonly WriteResult[], email: EmailOutcome): InviteResult {
  return {
    user: kept(plan.user, results),
    profile: kept(plan.profile, results),
    membership: kept(plan.membership, results),
    created: {
      user: plan.user.created,
      profile: plan.profile.created,
      membership: plan.membership.created,
    },
    email,
  };
}

/** The resource as it is now: from its write, if it had one. */
function kept<Resource extends User | PersonProfile | ProjectMembership>(
  { resource, write }: Planned<Resource>,
  results: readonly WriteResult[],
): Resource {
  const result = write === undefined ? undefined : results[write];
  return copyAs<Resource>(result?.kind === 'put' ? result.resource : resource);
}
