import type { Project, ProjectMembership, Reference, User } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { notFound } from '../../fhir/reference.js';
import { withChosenMeta } from '../../fhir/own-extensions.js';
import type { Stored } from '../../fhir/resource.js';
import type { NewInvitation } from '../invitation.js';
import { inviterReference, type PersonProfile, type ProjectSession, readUser } from '../session/project-session.js';
import { type EmailOutcome, type InvitationFacts, type MailContext, buildInvitationMessage } from './invitation.js';

/**
 * Sends an invitation; never throws.
 *
 * @param gather collects the facts, only if there is something to send
 */
export async function sendInvitation(
  context: MailContext,
  address: string | undefined,
  gather: (address: string) => Promise<Omit<InvitationFacts, 'date'>>,
): Promise<EmailOutcome> {
  if (address === undefined) return { status: 'skipped', reason: 'no-address' };
  if (context.mailer === undefined) return { status: 'skipped', reason: 'no-mailer' };
  try {
    const date = (context.clock?.() ?? new Date()).toISOString();
    const facts = structuredClone({ ...(await gather(address)), date });
    const message = await (context.message ?? buildInvitationMessage)(facts);
    await context.mailer.send({ ...facts, message });
    return { status: 'sent' };
  } catch (cause) {
    const error = new FhirError('unavailable', 'The invitation e-mail could not be sent; it can be sent again', {
      cause,
    });
    return { status: 'failed', error };
  }
}

/** Who was invited. */
interface InvitedPerson {
  readonly user: Stored<User>;
  readonly profile: Stored<PersonProfile>;
  readonly membership: Stored<ProjectMembership>;
  readonly isNewUser: boolean;
  /** The invitation that the person must accept. */
  readonly invitation?: NewInvitation | undefined;
}

/** Collects the data of an invitation in addition to the invited person. */
export async function invitationFacts(
  session: ProjectSession,
  to: string,
  person: InvitedPerson,
): Promise<Omit<InvitationFacts, 'date'>> {
  const { user, profile, membership, isNewUser, invitation } = person;
  const [project] = await session.guard.read([{ type: 'Project', id: session.project }], session.options);
  if (project?.status !== 'found') throw notFound({ type: 'Project', id: session.project });
  return {
    to,
    project: withChosenMeta(project.resource as Stored<Project>, session),
    user: withChosenMeta(user, session),
    profile: withChosenMeta(profile, session),
    membership: withChosenMeta(membership, session),
    isNewUser,
    ...(invitation === undefined
      ? {}
      : { acceptance: { url: invitation.urlFor(membership.id), expires: invitation.expires } }),
    invitedBy: await inviterWithName(session),
  };
}

async function inviterWithName(session: ProjectSession): Promise<Reference | undefined> {
  const reference = inviterReference(session);
  if (reference?.reference === undefined || !reference.reference.startsWith('User/')) return reference;
  const user = await readUser(session, reference.reference);
  return user === undefined ? reference : { ...reference, display: `${user.firstName} ${user.lastName}` };
}
