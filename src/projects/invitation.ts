import type { ProjectMembership } from '@medplum/fhirtypes';
import { putInvitation } from '../access/write/membership-records.js';
import { FhirError } from '../fhir/error.js';
import { OWN_EXTENSIONS, withExtensions } from '../fhir/own-extensions.js';
import { isResourceId } from '../fhir/resource.js';
import { randomSecret, sha256Of } from '../platform/crypto.js';
import type { PutWrite } from '../store/write.js';

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

/** How a person accepts an invitation. */
export interface AcceptanceOptions {
  /**
   * The address of the host's page where the person accepts: a string with `{token}` in it, such as
   * `https://app.example.org/accept?token={token}`, or a function that returns the address. The page verifies the
   * person and then calls `acceptInvitation`.
   */
  readonly url: string | ((token: string) => string);
  /** How long an invitation can be accepted, in milliseconds. Default 7 days. */
  readonly validFor?: number | undefined;
}

/** Seven days. */
const DEFAULT_VALIDITY_MS = 7 * 24 * 60 * 60 * 1000;

/** A hundred years: longer times have no date with four digits. */
const MAX_VALIDITY_MS = 100 * 366 * 24 * 60 * 60 * 1000;

/** The checked options. */
interface Acceptance {
  readonly urlOf: (token: string) => string;
  readonly validFor: number;
}

/**
 * Checks the options before anything is written.
 *
 * @throws FhirError `invalid` - no http or https address with `{token}` in it, or no positive time
 */
export function readAcceptance(options: AcceptanceOptions): Acceptance {
  const { url, validFor = DEFAULT_VALIDITY_MS } = options;
  if (typeof validFor !== 'number' || !(validFor > 0 && validFor <= MAX_VALIDITY_MS)) {
    throw new FhirError('invalid', 'acceptance.validFor must be a number of milliseconds above 0, 100 years at most');
  }
  if (typeof url === 'function') return { urlOf: (token) => webUrl(url(token)), validFor };
  if (typeof url !== 'string' || !url.includes(PLACE)) {
    throw new FhirError('invalid', `acceptance.url must be a function, or a text with ${PLACE} in it`);
  }
  const urlOf = (token: string): string => webUrl(url.replaceAll(PLACE, token));
  urlOf('token');
  return { urlOf, validFor };
}

const PLACE = '{token}';

function webUrl(text: unknown): string {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new FhirError('invalid', 'acceptance.url must make an absolute http or https URL');
}

/** The two parts of a token. */
interface InvitationToken {
  /** The id of the membership. */
  readonly membership: string;
  /** 256 random bits as base64url. */
  readonly secret: string;
}

/** The token as text: `<id of the membership>.<secret>`, which needs no escapes in a URL. */
function writeToken({ membership, secret }: InvitationToken): string {
  return `${membership}.${secret}`;
}

/** @returns undefined if the text is not a token */
export function readToken(text: unknown): InvitationToken | undefined {
  if (typeof text !== 'string') return undefined;
  const dot = text.lastIndexOf('.');
  const [membership, secret] = [text.slice(0, Math.max(0, dot)), text.slice(dot + 1)];
  return isResourceId(membership) && SECRET.test(secret) ? { membership, secret } : undefined;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The stored form of a secret. A plain hash suffices: 256 random bits cannot be guessed. */
export function hashOfSecret(secret: string): string {
  return sha256Of(secret);
}

/** Compares two hashes in a time that does not depend on where they differ. */
export function sameHash(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
