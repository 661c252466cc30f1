import { isResourceId } from '../../fhir/resource.js';
import { sha256Of } from '../../platform/sha256.js';

/** The two parts of a token. */
export interface InvitationToken {
  /** The id of the membership. */
  readonly membership: string;
  /** 256 random bits as base64url. */
  readonly secret: string;
}

/** The token as text: `<id of the membership>.<secret>`, which needs no escapes in a URL. */
export function writeToken({ membership, secret }: InvitationToken): string {
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
