import type { Project, ProjectMembership, Reference, User } from '@medplum/fhirtypes';
import type { FhirError } from '../../fhir/error.js';
import type { Stored } from '../../fhir/resource.js';
import type { AcceptanceOptions } from '../invitation.js';
import type { PersonProfile } from '../session/project-session.js';
import { nameForMessage } from './name-for-message.js';

/** The host's e-mail transport. */
export interface Mailer {
  /** Sends one invitation. Errors are reported in the result of the invite and never rethrown. */
  send(invitation: Invitation): Promise<void> | void;
}

/**
 * The data of an invitation, as copies.
 *
 * Names are unchecked, as people chose them; `nameForMessage` decides whether a name may appear in a message.
 */
export interface InvitationFacts {
  /** The address, in normal form. */
  readonly to: string;
  readonly project: Stored<Project>;
  readonly user: Stored<User>;
  readonly profile: Stored<PersonProfile>;
  readonly membership: Stored<ProjectMembership>;
  /** True if the person has no account yet: the User is new, or its e-mail address was never verified. */
  readonly isNewUser: boolean;
  /** Creation time: ISO 8601, UTC. */
  readonly date: string;
  /**
   * The address of the acceptance page, if `acceptance` is set. It contains the token, which is stored nowhere else.
   */
  readonly acceptance?: { readonly url: string; /** ISO 8601, UTC. */ readonly expires: string } | undefined;
  /** The inviter, with the name as `display` if it is known; undefined for trusted code. */
  readonly invitedBy: Reference | undefined;
}

/** An invitation with its text. */
export interface Invitation extends InvitationFacts {
  readonly message: InvitationMessage;
}

/** An e-mail's text, ready for a transport. */
export interface InvitationMessage {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Writes the text of an invitation; `buildInvitationMessage` is the default. */
export type MessageBuilder = (facts: InvitationFacts) => InvitationMessage | Promise<InvitationMessage>;

/** The outcome of the e-mail. */
export type EmailOutcome =
  | { readonly status: 'sent' }
  /** The mailer or the message builder failed; what it threw is the error's `cause`. */
  | { readonly status: 'failed'; readonly error: FhirError }
  | { readonly status: 'skipped'; readonly reason: 'not-asked' | 'no-address' | 'no-mailer' | 'dry-run' };

/** How the host sends invitations. */
export interface MailContext {
  /** The transport; without it, no e-mail is sent. */
  readonly mailer?: Mailer | undefined;
  /** Replaces the text of the invitation. Default `buildInvitationMessage`. */
  readonly message?: MessageBuilder | undefined;
  /**
   * Requires the person to accept: the message has an address with a one-time token for `acceptInvitation`. Default:
   * the host links people with memberships in another way.
   */
  readonly acceptance?: AcceptanceOptions | undefined;
  /** The clock that dates invitations and their end. Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
}

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
