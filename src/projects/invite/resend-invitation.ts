import type { GuardedWrite } from '../../access/contract.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { FhirError } from '../../fhir/error.js';
import { plausibleEmail } from '../body/invite-body.js';
import { readAcceptance, invitationRecord, newInvitation, type NewInvitation, withInvitation } from '../invitation.js';
import type { EmailOutcome } from '../mail/invitation.js';
import { invitationFacts, sendInvitation } from '../mail/send-invitation.js';
import { commitPlanned, type PlannedWrites } from '../session/commit-planned.js';
import { projectOperation } from '../session/project-context.js';
import {
  authored,
  openProjectOfMember,
  type ProjectSession,
  readMembership,
  readProfile,
  readUser,
} from '../session/project-session.js';
import type { InviteContext } from './invite.js';

/**
 * Sends a member's invitation again. For the message, the User counts as new until its e-mail is verified. With
 * `context.acceptance` and no external id linked yet, it carries a new token, and the previous token stops working.
 *
 * @throws FhirError `forbidden`, `not-found` - as with {@link updateMember}
 * @throws FhirError `conflict` - the member is not a person, or its User or profile is gone
 */
export function resendInvitation(membership: ResourceRef, context: InviteContext): Promise<EmailOutcome> {
  return projectOperation(context, 'invite', async (facts, bounded) => {
    if (bounded.acceptance !== undefined) readAcceptance(bounded.acceptance);
    const { session, id } = await openProjectOfMember(membership, bounded, 'create');
    facts.targets = [{ type: 'ProjectMembership', id }];
    const member = await readMembership(session, id);
    const user = await readUser(session, member.membership.user.reference ?? '');
    const profile = await readProfile(session, member.membership.profile.reference ?? '');
    if (user === undefined || profile === undefined) {
      throw new FhirError('conflict', `ProjectMembership/${id} has no User or no profile that could be written to`);
    }
    const isNewUser = user.emailVerified !== true;
    // Trusted code may have written any text into a User; an address must not break out of a mail header.
    const address = plausibleEmail(user.email ?? '');
    const invitation = address === undefined ? undefined : await replaceInvitation(session, id, bounded);
    return sendInvitation(bounded, address, (to) =>
      invitationFacts(session, to, { user, profile, membership: member.membership, isNewUser, invitation }),
    );
  });
}

/**
 * Replaces the previous token, which stops working.
 *
 * @returns undefined without `acceptance` or a mailer, or if the person is already linked
 */
async function replaceInvitation(
  session: ProjectSession,
  id: string,
  { acceptance, mailer, clock }: InviteContext,
): Promise<NewInvitation | undefined> {
  if (acceptance === undefined || mailer === undefined) return undefined;
  const invitation = newInvitation(acceptance, clock?.() ?? new Date());
  const { plan } = await commitPlanned(
    session.guard,
    async (): Promise<PlannedWrites & { readonly isOpen: boolean }> => {
      const { membership, versionId } = await readMembership(session, id);
      if (membership.externalId !== undefined) return { writes: [], isOpen: false };
      const put: GuardedWrite = {
        kind: 'put',
        key: { type: 'ProjectMembership', id },
        resource: authored(session, withInvitation(membership, invitation)),
        expect: { version: versionId },
        records: [invitationRecord(id, session.project, invitation)],
      };
      return { writes: [put], isOpen: true };
    },
    session.options,
  );
  return plan.isOpen ? invitation : undefined;
}
