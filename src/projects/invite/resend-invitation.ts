import { FhirError } from '../../fhir/error.js';
import { plausibleEmail } from '../body/email-address.js';
import { readProfile, readUser } from '../people/find-people.js';
import { invitationFacts } from '../mail/invitation-facts.js';
import type { InviteContext } from './invite.js';
import { sendInvitation } from '../mail/mailer.js';
import { type EmailOutcome } from '../mail/invitation.js';
import type { ResourceRef } from '../session/project-context.js';
import { openProjectOfMember, readMembership } from '../session/project-session.js';
import { projectOperation } from '../session/project-operation.js';

/**
 * Sends a member's invitation again. For the message, the User counts as new until its e-mail is verified.
 *
 * @throws FhirError `forbidden`, `not-found` - as with {@link updateMember}
 * @throws FhirError `conflict` - the member is not a person, or its User or profile is gone
 */
export function resendInvitation(membership: ResourceRef, context: InviteContext): Promise<EmailOutcome> {
  return projectOperation(context, 'invite', async (facts, bounded) => {
    const { session, id } = await openProjectOfMember(membership, bounded, 'create');
    facts.targets = [{ type: 'ProjectMembership', id }];
    const member = await readMembership(session, id);
    const user = await readUser(session, member.membership.user.reference ?? '');
    const profile = await readProfile(session, member.membership.profile.reference ?? '');
    if (user === undefined || profile === undefined) {
      throw new FhirError('conflict', `ProjectMembership/${id} has no User or no profile that could be written to`);
    }
    const person = { user, profile, membership: member.membership, isNewUser: user.emailVerified !== true };
    // Trusted code may have written any text into a User; an address must not break out of a mail header.
    return sendInvitation(bounded, plausibleEmail(user.email ?? ''), (to) => invitationFacts(session, to, person));
  });
}
