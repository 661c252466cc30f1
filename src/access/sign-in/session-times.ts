import { FhirError } from '../../fhir/error.js';
import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';

/**
 * When the access of a member ends, in milliseconds since 1970; the earliest of several times. Infinity: never.
 *
 * A malformed time counts as passed.
 */
export function accessEnd(membership: AnyResource): number {
  return Math.min(Infinity, ...instantsOf(membership, OWN_EXTENSIONS.accessExpires, -Infinity));
}

/** @throws FhirError `membership-expired` */
export function assertNotExpired(end: number, now: number): void {
  if (now < end) return;
  throw new FhirError('membership-expired', 'The access of this member has ended; an administrator can extend it');
}

/**
 * Until when the sessions of a member were revoked, in milliseconds since 1970; -Infinity: none were.
 *
 * A malformed time revokes all sessions.
 *
 * @param holders the membership, and the record of the User's revoked sessions
 */
export function revokedUntil(holders: readonly (AnyResource | undefined)[]): number {
  const times = holders.flatMap((one) =>
    one === undefined ? [] : instantsOf(one, OWN_EXTENSIONS.sessionsNotBefore, Infinity),
  );
  return Math.max(-Infinity, ...times);
}

/**
 * Rejects sessions that were revoked: those issued at or before the end of {@link revokedUntil}.
 *
 * @param issued milliseconds since 1970
 * @throws FhirError `session-ended`
 */
export function assertNotRevoked(until: number, issued: number): void {
  if (issued > until) return;
  throw new FhirError('session-ended', 'The sessions of this member were revoked; sign in again');
}

function instantsOf(resource: AnyResource, url: string, otherwise: number): readonly number[] {
  return extensionsOf(elementsOf(resource), url).map(({ valueInstant }) => {
    const time = typeof valueInstant === 'string' ? Date.parse(valueInstant) : Number.NaN;
    return Number.isNaN(time) ? otherwise : time;
  });
}
