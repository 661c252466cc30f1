import { FhirError } from '../../fhir/error.js';
import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';

/**
 * When the access of a member ends, in milliseconds since 1970; the earliest of several times. Infinity: never.
 *
 * A time that is not understood has passed.
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
 * Rejects sessions that were revoked: those issued at or before the time in the membership, or in the User's record.
 *
 * A time that is not understood revokes all sessions.
 *
 * @param issued milliseconds since 1970
 * @throws FhirError `session-ended`
 */
export function assertNotRevoked(holders: readonly (AnyResource | undefined)[], issued: number): void {
  const times = holders.flatMap((one) =>
    one === undefined ? [] : instantsOf(one, OWN_EXTENSIONS.sessionsNotBefore, Infinity),
  );
  if (times.every((time) => issued > time)) return;
  throw new FhirError('session-ended', 'The sessions of this member were revoked; sign in again');
}

function instantsOf(resource: AnyResource, url: string, otherwise: number): readonly number[] {
  return extensionsOf(elementsOf(resource), url).map(({ valueInstant }) => {
    const time = typeof valueInstant === 'string' ? Date.parse(valueInstant) : Number.NaN;
    return Number.isNaN(time) ? otherwise : time;
  });
}
