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

/** The revocations of a member's sessions. */
export interface Revocations {
  /** The latest, in milliseconds since 1970; -Infinity: there was none. A malformed time revokes all sessions. */
  readonly until: number;
  /** Another text after every revocation. */
  readonly mark: string;
}

/** @param holders the membership, and the record of the User's revoked sessions */
export function revocationsIn(holders: readonly (AnyResource | undefined)[]): Revocations {
  const times = holders.map((one) =>
    one === undefined ? [] : instantsOf(one, OWN_EXTENSIONS.sessionsNotBefore, Infinity),
  );
  return { until: Math.max(-Infinity, ...times.flat()), mark: times.join(';') };
}

/** What decides whether a session is revoked: when it began, and what was revoked then. */
export interface SessionStart {
  /**
   * When the token was issued, in milliseconds since 1970. -Infinity: unknown, so it may be older than any revocation;
   * Infinity: no token began the session, but the sign-in itself.
   */
  readonly issued: number;
  /** The mark of the revocations at the sign-in; undefined during the sign-in. */
  readonly accepted?: string | undefined;
}

/**
 * The allowance for clocks that differ, in milliseconds: between the issuer of tokens and the processes that revoke and
 * sign in. A token that was issued up to then after a revocation may be older than it.
 */
const CLOCK_SKEW_MS = 60_000;

/**
 * Rejects sessions that were revoked. A session that was accepted ends with any later revocation, whatever the clocks
 * say. A token is accepted after a revocation if it is surely younger.
 *
 * @param now milliseconds since 1970
 * @throws FhirError `session-ended`
 */
export function assertNotRevoked({ until, mark }: Revocations, { issued, accepted }: SessionStart, now: number): void {
  if (accepted === undefined) {
    if (until === -Infinity || issued === Infinity) return;
    // A token from the future was issued by a clock that is ahead.
    if (issued > until + CLOCK_SKEW_MS && issued <= now + CLOCK_SKEW_MS) return;
  } else if (accepted === mark) return;
  throw new FhirError('session-ended', 'The sessions of this member were revoked; sign in again');
}

/** The instant of a revocation: now, but later than those before, even if the clock went back. */
export function revocationTime(holder: AnyResource | undefined, now: Date): string {
  const { until } = revocationsIn([holder]);
  return (Number.isFinite(until) ? new Date(Math.max(until + 1, now.getTime())) : now).toISOString();
}

function instantsOf(resource: AnyResource, url: string, otherwise: number): readonly number[] {
  return extensionsOf(elementsOf(resource), url).map(({ valueInstant }) => {
    const time = typeof valueInstant === 'string' ? Date.parse(valueInstant) : Number.NaN;
    return Number.isNaN(time) ? otherwise : time;
  });
}
