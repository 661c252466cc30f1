import {
  createProject,
  type EmailOutcome,
  initialize,
  invite,
  type InviteBody,
  type InviteContext,
  type Mailer,
  resendInvitation,
  type ResourceStore,
} from 'fhirgraph';
import { buildInvitationMessage } from 'fhirgraph/mail';

/** What became of each e-mail, in order. */
export interface MailStory {
  readonly newUser: EmailOutcome;
  readonly existingUser: EmailOutcome;
  readonly whileServerFails: EmailOutcome;
  readonly sentAgain: EmailOutcome;
}

const ADA: InviteBody = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' };
const BEN: InviteBody = { resourceType: 'Practitioner', firstName: 'Ben', lastName: 'Hill', email: 'ben@example.org' };

/**
 * Invitations by e-mail: to somebody new, to somebody who has an account already, and to somebody whose first e-mail could
 * not be sent.
 *
 * @param mailer one that works
 * @param broken one that does not
 */
export async function tellMailStory(
  store: ResourceStore,
  mailer: Mailer,
  broken: Mailer,
  tell: (line: string) => void,
): Promise<MailStory> {
  const { caller } = await initialize(store, { name: 'Operations' });
  const riverside = (await createProject({ resourceType: 'Project', name: 'Riverside Clinic' }, { store, caller })).id;
  const hillside = (await createProject({ resourceType: 'Project', name: 'Hillside Clinic' }, { store, caller })).id;
  const context: InviteContext = {
    store,
    caller,
    mailer,
    message: (facts) => buildInvitationMessage(facts, { link: 'https://app.example.org/welcome' }),
  };

  const first = await invite(riverside, ADA, context);
  tell(`Ada is new: ${describe(first.email)}`);
  const second = await invite(hillside, ADA, context);
  tell(`Ada has an account and joins a second clinic: ${describe(second.email)}`);

  // The invite stands, whatever becomes of the e-mail.
  const third = await invite(riverside, BEN, { ...context, mailer: broken });
  tell(`Ben is a member, but the mail server fails: ${describe(third.email)}`);
  const sentAgain = await resendInvitation(third.membership.id, context);
  tell(`Later: ${describe(sentAgain)}`);
  return { newUser: first.email, existingUser: second.email, whileServerFails: third.email, sentAgain };
}

function describe(email: EmailOutcome): string {
  if (email.status === 'failed') return `failed (${email.error.message})`;
  return email.status === 'sent' ? 'sent' : `skipped (${email.reason})`;
}
