import type { Project, ProjectMembership, Reference, User } from '@medplum/fhirtypes';
import type { FhirError } from '../../fhir/error.js';
import type { AcceptanceOptions } from '../invitation/acceptance-options.js';
import type { PersonProfile } from '../people/find-people.js';
import type { Stored } from '../../fhir/stored.js';

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
