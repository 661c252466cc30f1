import type { InvitationFacts, InvitationMessage } from './invitation.js';
import { nameForMessage } from './name-for-message.js';

/** Options that the default message needs from the host. */
export interface MessageOptions {
  /**
   * Where to sign in or set up the account: an http or https URL. Default: no link. An invitation with `acceptance`
   * shows its address instead.
   */
  readonly link?: string | undefined;
}

/**
 * Builds the default invitation message, in plain text and HTML. All values in it are escaped. Names that a mail client
 * could turn into links are left out ({@link nameForMessage}), so the only link is the host's. The subject is one line
 * of at most 150 characters.
 *
 * @throws TypeError - the link is not a http or https URL
 *
 * @example
 * await invite(project, body, { ...ctx, message: (facts) => buildInvitationMessage(facts, { link: 'https://app.example.org/welcome' }) });
 */
export function buildInvitationMessage(facts: InvitationFacts, options: MessageOptions = {}): InvitationMessage {
  const project = nameForMessage(facts.project.name ?? '') ?? 'a project';
  const inviter = nameForMessage(facts.invitedBy?.display ?? '');
  const invitee = nameForMessage(facts.user.firstName);
  const greeting = invitee === undefined ? 'Hello,' : `Hello ${invitee},`;
  const invited = `${inviter === undefined ? 'You have been invited' : `${inviter} has invited you`} to ${project}.`;
  const next = facts.isNewUser
    ? 'An account has been made for you. To use it, set up your sign-in first.'
    : 'Sign in with the account that you have already.';
  const address = facts.acceptance?.url ?? options.link;
  const link = address === undefined ? undefined : webLink(address);
  const validity =
    facts.acceptance === undefined
      ? []
      : [`To accept, follow this link. It works once, until ${facts.acceptance.expires.slice(0, 10)}.`];
  const closing = 'If you did not expect this message, you can ignore it.';
  const paragraphs = [greeting, invited, next, ...validity, ...(link === undefined ? [] : [link]), closing];
  return {
    subject: `Invitation to ${project}`,
    text: `${paragraphs.join('\n\n')}\n`,
    html: paragraphs
      .map((one) =>
        one === link ? `<p><a href="${escapeHtml(one)}">${escapeHtml(one)}</a></p>` : `<p>${escapeHtml(one)}</p>`,
      )
      .join('\n'),
  };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function webLink(link: string): string {
  const { protocol, href } = new URL(link);
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new TypeError('The link of an invitation must be an http or https URL');
  return href;
}
