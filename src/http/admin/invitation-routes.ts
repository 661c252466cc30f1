import { FhirError } from '../../fhir/error.js';
import { acceptInvitation } from '../../projects/accept/accept-invitation.js';
import { resendInvitation } from '../../projects/invite/resend-invitation.js';
import { readMember } from '../../projects/members/read-member.js';
import type { Answer } from '../exchange/answer.js';
import { contextOf, type Exchange } from '../exchange/exchange.js';
import { readJsonObject } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { withTokenErrors } from '../exchange/token-errors.js';

/** Invitations that were sent: again, and accepted. */
export const INVITATION_ROUTES: readonly Route[] = [
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: 'projects/:project/members/:membership/resend-invitation',
    parameters: [],
    async answer(exchange) {
      const context = contextOf(exchange);
      const { project, membership } = exchange.path;
      // The project of the URL must be that of the member.
      const { id } = await readMember(project, membership, { ...context, audit: undefined, requireAudit: undefined });
      const email = await resendInvitation(id, context);
      if (email.status === 'failed') exchange.report(email.error.cause ?? email.error);
      const { status, reason } = { reason: undefined, ...email };
      return { status: 200, json: { status, ...(reason === undefined ? {} : { reason }) }, type: 'application/json' };
    },
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: 'invitations/accept',
    parameters: [],
    isAnonymous: true,
    answer: accept,
    answerPublic: accept,
  },
];

async function accept(exchange: Exchange): Promise<Answer> {
  const { store, identify, limits, audit, requireAudit, clock } = exchange.settings;
  if (identify === undefined) throw new FhirError('not-found', 'There is no such route');
  const identity = await withTokenErrors(async () => identify(exchange.request));
  if (identity === undefined) throw new FhirError('unauthenticated', 'A bearer token is needed');
  const { token } = await readJsonObject(exchange);
  const context = { ...exchange.stated, store, limits, audit, requireAudit, clock, signal: exchange.signal };
  return { status: 200, json: await acceptInvitation(token as string, identity, context), type: 'application/json' };
}
