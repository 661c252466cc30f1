import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ResourceStore } from '../../store/store.js';
import { type Caller, type MemberCaller, assertCaller } from '../caller.js';
import { narrowedCaller } from '../narrow/narrowed-caller.js';
import type { Narrowing } from '../narrowing.js';
import { readMemberAgain, rightsOf, type Member, type SessionTerms, assertNotExpired } from './member.js';

/** The session of a caller, kept while the caller is in use. */
export interface Session {
  readonly requirePolicy: boolean;
  /** See {@link SessionStart.issued}. */
  readonly issued: number;
  /** After how many milliseconds it is checked again. */
  readonly recheckAfter: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

interface Standing extends Session {
  readonly member: Member;
  /** When the session was last confirmed. */
  checked: number;
  /** The store's epoch at that check; undefined before the first check. */
  epoch: string | undefined;
  /** True if two checks in a row found the same epoch, so that no replica lags behind it. */
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

/** Makes a derived caller end together with the original. */
export function joinSession(caller: MemberCaller, of: MemberCaller): void {
  const standing = STANDINGS.get(of);
  if (standing !== undefined) STANDINGS.set(caller, standing);
}

/** The terms on which the caller signs in again; undefined for a caller that `signIn` did not make. */
export function termsOf(caller: MemberCaller): SessionTerms | undefined {
  const standing = STANDINGS.get(caller);
  return standing && termsAt(standing, standing.clock());
}

/** The session of a caller, and the member as it signed in; undefined for a caller that `signIn` did not make. */
export function standingOf(caller: MemberCaller): (Session & { readonly member: Member }) | undefined {
  return STANDINGS.get(caller);
}

function termsAt({ requirePolicy, issued, member }: Standing, now: number): SessionTerms {
  return { requirePolicy, issued, accepted: member.revoked.mark, now };
}

/**
 * Checks that the session of a caller still holds, if the last check was long enough ago.
 *
 * The check reads the store's epoch. Only if that has changed, it reads the member's resources again.
 *
 * @returns undefined without a check: most calls. Otherwise it rejects with the codes of `signIn`, `session-ended`
 * among them; an unreachable store does not end the session.
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
  // If the clock went backwards, check.
  if (now < standing.member.end && passed >= 0 && passed < standing.recheckAfter) return undefined;
  // One check serves all calls that are due. The call that began it may be aborted; then the next one checks itself.
  if (standing.checking !== undefined) return standing.checking.catch(() => assertSession(store, caller, options));
  standing.checking = check(store, standing, now, options)
    .catch((error: unknown) => {
      if (error instanceof FhirError && ENDING_CODES.has(error.code)) standing.ended = error;
      throw error;
    })
    .finally(() => (standing.checking = undefined));
  return standing.checking;
}

/** Errors that say something about the member, and not about the store. */
export const ENDING_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
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

async function check(
  store: ResourceStore,
  standing: Standing,
  now: number,
  options: CallOptions | undefined,
): Promise<void> {
  const { member } = standing;
  assertNotExpired(member.end, now);
  // Read before the rest, so that the next check notices a change in between.
  const epoch = await store.accessEpoch?.(options);
  const isSame = epoch !== undefined && epoch === standing.epoch;
  if (!isSame || !standing.isSettled) {
    const again = await readMemberAgain(store, member, termsAt(standing, now), options);
    if (rightsOf(again.member) !== rightsOf(member)) {
      throw new FhirError('session-ended', 'The rights of this caller have changed since it signed in; sign in again');
    }
  }
  standing.isSettled = isSame;
  standing.epoch = epoch;
  standing.checked = now;
}

/**
 * Creates a caller with fewer rights: it can do only what the original caller's rules grant and the scopes, the patient
 * or the clearances also allow. It never has more rights than the original caller, and ends with it.
 *
 * Narrowing again narrows further. `explainAccess` names the scope in each rule, and the rights that the scopes remove.
 *
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - trusted code, which has no rules to narrow; neither scopes nor a patient; scopes that begin
 * with `patient/` without a patient
 * @throws FhirError `too-costly` - more than 500 scopes
 *
 * @example
 * const app = narrowCaller(caller, { scopes: token.scope, patient: token.patient });
 */
export function narrowCaller(caller: Caller, narrowing: Narrowing): MemberCaller {
  assertCaller(caller);
  if (caller.kind !== 'member') {
    throw new FhirError('invalid', 'Only callers of signIn can be narrowed; trusted code has no rules');
  }
  const narrowed = narrowedCaller(caller, narrowing);
  joinSession(narrowed, caller);
  return narrowed;
}
