import type { ProjectMembership } from '@medplum/fhirtypes';
import { putInvitation } from '../../access/write/membership-records.js';
import { OWN_EXTENSIONS, withExtensions } from '../../fhir/own-extensions.js';
import { randomSecret } from '../../platform/random-secret.js';
import type { PutWrite } from '../../store/write.js';
import { type AcceptanceOptions, readAcceptance } from './acceptance-options.js';
import { hashOfSecret, writeToken } from './invitation-token.js';

/** An invitation that the person must accept, before it is stored and sent. */
export interface NewInvitation {
  /** ISO 8601 instant, UTC. */
  readonly expires: string;
  /** The hash of the secret. */
  readonly hash: string;
  /** The address for the message, with the token in it. */
  readonly urlFor: (membership: string) => string;
}

/** @throws FhirError `invalid` - the options are malformed */
export function newInvitation(options: AcceptanceOptions, now: Date): NewInvitation {
  const { urlOf, validFor } = readAcceptance(options);
  const secret = randomSecret();
  return {
    expires: new Date(now.getTime() + validFor).toISOString(),
    hash: hashOfSecret(secret),
    urlFor: (membership) => urlOf(writeToken({ membership, secret })),
  };
}

/** The membership while its invitation is open. */
export function withInvitation(membership: ProjectMembership, { expires }: NewInvitation): ProjectMembership {
  return withExtensions(membership, OWN_EXTENSIONS.invitationExpires, [{ valueInstant: expires }]);
}

/** The membership without an open invitation. */
export function withoutInvitation<Membership extends object>(membership: Membership): Membership {
  return withExtensions(membership, OWN_EXTENSIONS.invitationExpires, []);
}

/** The part that the membership keeps; it replaces an invitation sent before. */
export function invitationRecord(membership: string, project: string, { hash, expires }: NewInvitation): PutWrite {
  return putInvitation(membership, { project, hash, expires, failures: 0 });
}
