import type { Project, ProjectMembership, Reference, User } from '@medplum/fhirtypes';
import type { FhirError } from '../../fhir/error.js';
import type { PersonProfile } from '../people/find-people.js';
import type { Stored } from '../../fhir/stored.js';

/** The host's way to send e-mail. */
export interface Mailer {
  /** Sends one invitation. What it throws is reported in the result of the invite, never thrown on. */
  send(invitation: Invitation): Promise<void> | void;
}

/**
 * Everything that is needed to write an invitation. All of it are copies.
 *
 * Names are as people chose them; `nameForMessage` decides which may appear in a message.
 */
export interface InvitationFacts {
  /** The address, in normal form. */
  readonly to: string;
  readonly project: Stored<Project>;
  readonly user: Stored<User>;
  readonly profile: Stored<PersonProfile>;
  readonly membership: Stored<ProjectMembership>;
  /** True for somebody who has no account yet. */
  readonly isNewUser: boolean;
  /** When it was written: ISO 8601, UTC. */
  readonly date: string;
  /** Who invited, with the name as display where it is known; undefined for trusted code. */
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

/** What became of the e-mail. */
export type EmailOutcome =
  | { readonly status: 'sent' }
  /** The mailer or the message builder failed; what it threw is the error's `cause`. */
  | { readonly status: 'failed'; readonly error: FhirError }
  | { readonly status: 'skipped'; readonly reason: 'not-asked' | 'no-address' | 'no-mailer' | 'dry-run' };

/** The host's part in sending invitations. */
export interface MailContext {
  /** Without one, no e-mail is sent. */
  readonly mailer?: Mailer | undefined;
  /** Replaces the text of the invitation. Default `buildInvitationMessage`. */
  readonly message?: MessageBuilder | undefined;
  /** What dates invitations. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
}
