// The text of invitations, for hosts that write their own or send the default one.

export type { Stored } from './fhir/stored.js';
export { buildInvitationMessage, type MessageOptions } from './projects/mail/invitation.js';
export type { InvitationFacts, InvitationMessage } from './projects/mail/invitation.js';
export { nameForMessage } from './projects/mail/name-for-message.js';
export type { PersonProfile } from './projects/session/project-session.js';
