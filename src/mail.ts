// The text of invitations, for hosts that write their own or send the default one.

export { buildInvitationMessage, type MessageOptions } from './projects/mail/invitation.js';
export { nameForMessage } from './projects/mail/name-for-message.js';
