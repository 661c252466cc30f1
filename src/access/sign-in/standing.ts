import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ResourceStore } from '../../store/store.js';
import { withCallOptions } from '../../store/with-call-options.js';
import type { Caller, MemberCaller } from '../caller.js';
import { readMemberAgain } from './read-member-again.js';
import { rightsOf, type Member, type SessionTerms } from './read-member.js';
import { assertNotExpired } from './session-times.js';

/** What a caller keeps of its sign-in, for as long as it is used. */
export interface Session {
  readonly requirePolicy: boolean;
  /** When it began, in milliseconds since 1970. */
  readonly issued: number;
  /** After how many milliseconds it is checked again. */
  readonly recheckAfter: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

interface Standing extends Session {
  readonly member: Member;
  /** When it was last found to hold. */
  checked: number;
  /** The store's epoch then; undefined before the first look. */
  epoch: string | undefined;
  /** The epoch was the same at two looks in a row, so that no replica is behind it. */
  isSettled: boolean;
  /** The check that is running. */
  checking: Promise<void> | undefined;
  /** Why it ended. */
  ended: FhirError | undefined;
}

const STANDINGS = new WeakMap<MemberCaller, Standing>();

/** Remembers how a caller signed in. */
export function beginSession(caller: MemberCaller, member: Member, session: Session): void {
  STANDINGS.set(caller, {
    ...session,
    member,
    checked: session.clock(),
    epoch: undefined,
    isSettled: false,
    checking: undefined,
    ended: undefined,
  });
}

/** A caller made of another one lives as long as that one. */
export function joinSession(caller: MemberCaller, of: MemberCaller): void {
  const standing = STANDINGS.get(of);
  if (standing !== undefined) STANDINGS.set(caller, standing);
}

/** The terms on which the caller signs in again; undefined for a caller that `signIn` did not make. */
export function termsOf(caller: MemberCaller): SessionTerms | undefined {
  const standing = STANDINGS.get(caller);
  return standing && { requirePolicy: standing.requirePolicy, issued: standing.issued, now: standing.clock() };
}

/**
 * Checks that the session of a caller still holds, if the last check was long enough ago.
 *
 * The check is one look at the store's epoch; what decides about the member is read again only where that has changed.
 *
 * @returns undefined without a check: most calls. Otherwise it rejects with the codes of `signIn`, `session-ended` among
 * them; a store that cannot be asked ends nothing.
 */
export function assertSession(
  store: ResourceStore,
  caller: Caller,
  options: CallOptions | undefined,
): Promise<void> | undefined {
  const standing = caller.kind === 'member' ? STANDINGS.get(caller) : undefined;
  if (standing === undefined) return undefined;
  if (standing.ended !== undefined) return Promise.reject(standing.ended);
  const now = standing.clock();
  const passed = now - standing.checked;
  // A clock that was put back says nothing.
  if (now < standing.member.end && passed >= 0 && passed < standing.recheckAfter) return undefined;
  // One check serves all calls that are due. The call that began it may be aborted; then the next one checks itself.
  if (standing.checking !== undefined) return standing.checking.catch(() => assertSession(store, caller, options));
  standing.checking = check(
    withCallOptions(store, () => options),
    standing,
    now,
  )
    .catch((error: unknown) => {
      if (error instanceof FhirError && ENDS.has(error.code)) standing.ended = error;
      throw error;
    })
    .finally(() => (standing.checking = undefined));
  return standing.checking;
}

/** Errors that say something about the member, and not about the store. */
const ENDS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'membership-expired',
  'membership-inactive',
  'membership-missing',
  'policy-invalid',
  'policy-missing',
  'policy-required',
  'profile-missing',
  'project-missing',
  'session-ended',
  'user-missing',
]);

async function check(store: ResourceStore, standing: Standing, now: number): Promise<void> {
  const { member, requirePolicy, issued } = standing;
  assertNotExpired(member.end, now);
  // Before the rest is read: a change in between is seen at the next look.
  const epoch = await store.accessEpoch?.();
  const isSame = epoch !== undefined && epoch === standing.epoch;
  if (!isSame || !standing.isSettled) {
    const again = await readMemberAgain(store, member, { requirePolicy, issued, now });
    if (rightsOf(again.member) !== rightsOf(member)) {
      throw new FhirError('session-ended', 'What this caller may do has changed since it signed in; sign in again');
    }
  }
  standing.isSettled = isSame;
  standing.epoch = epoch;
  standing.checked = now;
}
