import { FhirError } from '../../fhir/error.js';
import type { EmailOutcome, InvitationFacts, MailContext } from './invitation.js';
import { buildInvitationMessage } from './invitation-message.js';

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
