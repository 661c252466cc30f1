import type { AuditFacts, AuditOptions } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { inTurns, Pace } from '../../platform/pace.js';
import { parametersOf } from '../../search/criteria/parameters-of.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { auditedCaller, type InCall, operation, type OperationContext } from '../operation.js';
import { assertNotEnded, derivedCaller, type MemberCaller } from '../caller.js';
import type { CallLimits } from '../limits/call-limits.js';
import { narrowedLike } from '../narrow/narrowed-caller.js';
import { isForEmergency } from '../policy/policy-grant.js';
import type { AccessRules } from '../rule.js';
import { findMembership, namedBy, strangerOf, type SignInIdentity } from './find-membership.js';
import { isDecidedByEpoch, type KeptSignIn, KeptSignIns, signInKey } from './kept-sign-ins.js';
import { makingCaller, type CallerRequest, type Emergency } from './make-caller.js';
import {
  assertNotExpired,
  assertNotRevoked,
  readMember,
  readMemberAgain,
  rightsOf,
  type CurrentState,
  type FoundMembership,
  type Member,
} from './member.js';
import { beginSession, joinSession, standingOf, termsOf, type Session } from './session.js';

/** Options of `signIn`. */
export interface SignInOptions extends AuditOptions {
  /** Reject members without an access policy, instead of applying the default of their profile type. Default false. */
  readonly requirePolicy?: boolean | undefined;
  /**
   * When the token was issued: `new Date(claims.iat * 1000)`. A token from before a call of `revokeSessions`, or from the
   * 60 seconds after it, which allow for clocks that differ, is refused.
   *
   * Default: unknown. Then a member whose sessions were ever revoked is refused. `now`: no token begins the session, but
   * this call, for example after a check of a password.
   */
  readonly issuedAt?: Date | 'now' | undefined;
  /**
   * Milliseconds after which a caller in use is checked again. Default 5000. 0: before each store call; Infinity:
   * never.
   */
  readonly recheckAfter?: number | undefined;
  /** The clock for all of these. Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
  /** Ends the sign-in early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  readonly limits?: CallLimits | undefined;
}

/**
 * Signs a member in and returns its caller.
 *
 * All conditions of the membership are checked here. You can use the caller for one request or for many: after {@link
 * SignInOptions.recheckAfter}, its next store call checks it again. If a change of its membership, User, profile,
 * project or policies affects its rights, the caller ends: its calls reject with `session-ended` or a code below, and
 * the host signs in again. The host must have verified the token; `signIn` checks no passwords.
 *
 * @throws FhirError `unauthenticated` - a name is missing, such as a claim that the token does not have
 * @throws FhirError `invalid` - a name is malformed
 * @throws FhirError `membership-missing` - no such membership, or the user or client has no membership in the project
 * @throws FhirError `membership-ambiguous` - the user has several memberships; `details.memberships` lists them if the
 * project is named
 * @throws FhirError `membership-inactive` - the membership is inactive, or its user is switched off
 * @throws FhirError `membership-expired` - its access has ended
 * @throws FhirError `session-ended` - its sessions were revoked after `issuedAt`, or `issuedAt` is unknown
 * @throws FhirError `project-missing` - its project is gone or inactive
 * @throws FhirError `user-missing`, `profile-missing` - the User or the profile is gone
 * @throws FhirError `policy-missing` - an access policy that the membership names is gone
 * @throws FhirError `policy-invalid` - a policy, or the membership's choice of policies, is invalid; no default
 * replaces it
 * @throws FhirError `policy-required` - see {@link SignInOptions}
 * @throws FhirError `aborted`, `too-costly` - the signal fired, or `limits.timeout` passed
 * @throws FhirError `unavailable` - the store failed, or the search parameters of the policies are being re-indexed
 *
 * @example
 * const { project, sub, iat } = await verifyToken(request);
 * const caller = await signIn(store, { project, externalId: sub }, { issuedAt: new Date(iat * 1000) });
 */
export function signIn(
  store: ResourceStore,
  identity: SignInIdentity,
  options: SignInOptions = {},
): Promise<MemberCaller> {
  const targets = namedBy(identity);
  const work = async ({ call }: InCall<OperationContext>, facts: AuditFacts): Promise<MemberCaller> => {
    const session = sessionOf(options);
    const found = (membership: FoundMembership): void => {
      facts.who = { kind: 'unknown', project: membership.project };
      facts.targets = [{ type: 'ProjectMembership', id: membership.membership.id }];
    };
    const { member, caller } = await signInOnce(store, identity, { options, session, found }, call);
    beginSession(caller, member, session);
    facts.who = auditedCaller(caller);
    return caller;
  };
  return operation(auditing(store, options), 'sign-in', work, { facts: { targets, who: strangerOf(targets) } });
}

/**
 * The caller that a member would get now, for checks of its rights: it has no session, no audit record and no span.
 *
 * @param id of the membership
 * @throws FhirError as {@link signIn}
 */
export async function callerOfMember(store: ResourceStore, id: string, call: CallOptions): Promise<MemberCaller> {
  const work = { options: {}, session: sessionOf({ issuedAt: 'now' }), found: () => undefined };
  return (await signInOnce(store, { membership: id }, work, call)).caller;
}

/** The state of a sign-in in progress. */
interface SignInWork {
  readonly options: SignInOptions;
  readonly session: Session;
  /** Called when the membership is known. */
  readonly found: (membership: FoundMembership) => void;
}

/** Uses the kept sign-in if nothing that may affect access has changed since; otherwise signs in from the start. */
async function signInOnce(
  store: ResourceStore,
  identity: SignInIdentity,
  { options, session, found }: SignInWork,
  call: CallOptions,
): Promise<KeptSignIn> {
  const { purpose, requestId } = options;
  const kept = KeptSignIns.of(store);
  const key = kept === undefined ? undefined : signInKey(identity, session.requirePolicy);
  // Read before anything else, so that the next sign-in notices a change in between.
  const epoch = key === undefined ? undefined : await store.accessEpoch!(call);
  const last = key === undefined ? undefined : kept!.find(key, epoch!);
  const now = session.clock();
  if (last !== undefined) {
    const { member, caller } = last;
    found(member);
    assertNotExpired(member.end, now);
    assertNotRevoked(member.revoked, session, now);
    await assertRulesIndexed(store, member.project, caller.rules, call);
    return { member, caller: derivedCaller(caller, (facts) => ({ ...facts, purpose, requestId })) };
  }
  const membership = await findMembership(store, identity, call);
  found(membership);
  const member = await readMember(store, membership, { ...session, now }, call);
  const caller = await callerOf(store, member, { purpose, requestId }, call);
  // What was read in between can be newer than the epoch, which a database that loses its last commits has again.
  if (key !== undefined && (await store.accessEpoch!(call)) === epoch) kept!.keep(key, epoch, { member, caller });
  return { member, caller };
}

/** There is no caller yet, so the purpose and the id of the request come from the options. */
function auditing(store: ResourceStore, options: SignInOptions): OperationContext {
  const { signal, limits, audit, requireAudit, purpose, requestId } = options;
  return { store, signal, limits, audit, requireAudit, purpose, requestId };
}

/** A caller with the current state of its membership. */
export interface CurrentMember extends Pick<CurrentState, 'lastUpdated' | 'isListed'> {
  readonly caller: MemberCaller;
}

/** Signs a caller in again through the same membership, on the terms of its session. @throws FhirError as {@link signIn} */
export async function signInAgain(
  store: ResourceStore,
  caller: MemberCaller,
  call: CallOptions | undefined,
  emergency?: Emergency,
): Promise<CurrentMember> {
  const now = Date.now();
  const terms = termsOf(caller) ?? { requirePolicy: false, issued: Infinity, now };
  const { project, membership: id, user } = caller;
  const before = { project, membership: { id }, user };
  const { member, lastUpdated, isListed } = await readMemberAgain(store, before, terms, call);
  if (emergency !== undefined && !member.grants.some(({ policy }) => isForEmergency(policy))) {
    throw new FhirError('forbidden', `ProjectMembership/${id} names no access policy for emergencies`);
  }
  const { purpose, requestId } = caller;
  // Reading the member again must not undo the narrowings.
  const again = narrowedLike(await callerOf(store, member, { purpose, requestId, emergency }, call), caller);
  joinSession(again, caller);
  return { caller: again, lastUpdated, isListed };
}

/**
 * The caller of a member that works for long, with the current state of its membership: the same one if its rights are the
 * same, another one if only its rules are.
 *
 * @returns undefined if its rules have changed
 * @throws FhirError as {@link signIn}; `forbidden` - its emergency access has ended
 */
export async function renewCaller(store: ResourceStore, caller: MemberCaller): Promise<MemberCaller | undefined> {
  assertNotEnded(caller);
  const standing = standingOf(caller);
  if (standing === undefined) return caller;
  const { member } = await readMemberAgain(store, standing.member, termsOf(caller)!, undefined);
  if (rightsOf(member) === rightsOf(standing.member)) return caller;
  const { purpose, requestId, emergency } = caller;
  const clock = (): Date => new Date(standing.clock());
  const request = { purpose, requestId, emergency: emergency && { ...emergency, clock } };
  const again = narrowedLike(await callerOf(store, member, request, undefined), caller);
  if (rulesText(again) !== rulesText(caller)) return undefined;
  beginSession(again, member, standing);
  return again;
}

/** Whether the rights of a caller can change without a change of the store's epoch. */
export function mayChangeUnnoticed(caller: MemberCaller): boolean {
  const standing = standingOf(caller);
  return standing !== undefined && !isDecidedByEpoch(standing.member);
}

/** How long the access of a caller lasts, in milliseconds; Infinity: without an end. */
export function timeLeft(caller: MemberCaller): number {
  const standing = standingOf(caller);
  const end = Math.min(standing?.member.end ?? Infinity, Date.parse(caller.emergency?.until ?? '') || Infinity);
  return end - (standing?.clock() ?? Date.now());
}

function rulesText({ rules }: MemberCaller): string {
  const ofType = (type: string): unknown =>
    rules.rulesFor(type).map(({ interactions, criteria, hidden }) => [[...interactions], criteria, hidden]);
  return JSON.stringify(rules.model.resourceTypes.map(ofType));
}

async function callerOf(
  store: ResourceStore,
  member: Member,
  { purpose, requestId, emergency }: CallerRequest,
  call: CallOptions | undefined,
): Promise<MemberCaller> {
  const caller = await inTurns(makingCaller(store.model, member, { purpose, requestId, emergency }), new Pace());
  await assertRulesIndexed(store, member.project, caller.rules, call);
  return caller;
}

/** @throws FhirError `invalid` - an option is not a time */
function sessionOf({ requirePolicy, issuedAt, recheckAfter = RECHECK_AFTER_MS, clock }: SignInOptions): Session {
  const now = clock === undefined ? Date.now : (): number => clock().getTime();
  const issued = issuedAt instanceof Date ? issuedAt.getTime() : ISSUED.get(issuedAt);
  if (issued === undefined || Number.isNaN(issued)) throw new FhirError('invalid', 'issuedAt must be a valid Date');
  if (typeof recheckAfter !== 'number' || !(recheckAfter >= 0)) {
    throw new FhirError('invalid', 'recheckAfter must be a number of milliseconds, 0 or more');
  }
  return { requirePolicy: requirePolicy === true, issued, recheckAfter, clock: now };
}

/** See {@link Session.issued}. */
const ISSUED: ReadonlyMap<unknown, number> = new Map([
  [undefined, -Infinity],
  ['now', Infinity],
]);

const RECHECK_AFTER_MS = 5_000;

/**
 * Rejects a member whose rules use search parameters that are being re-indexed: their resources could not be found.
 * Costs nothing in the usual case without re-indexing.
 *
 * Callers who signed in before are safe too: the store rejects every search with such criteria.
 *
 * @throws FhirError `unavailable`
 */
export async function assertRulesIndexed(
  store: ResourceStore,
  project: string,
  rules: AccessRules,
  call: CallOptions | undefined,
): Promise<void> {
  if (store.pendingParameters === undefined) return;
  const own = await store.pendingParameters(project, call);
  const pending = [...own, ...(await store.pendingParameters(SERVER_SCOPE, call))];
  if (pending.length === 0) return;
  const names = new Set(pending.map(({ type, parameter }) => `${type}.${parameter}`));
  for (const type of store.model.resourceTypes) {
    for (const { criteria } of rules.rulesFor(type)) {
      const used = parametersOf(type, criteria).find(({ type: of, parameter }) => names.has(`${of}.${parameter}`));
      if (used === undefined) continue;
      throw new FhirError(
        'unavailable',
        `The access policy of this member uses ${used.type}.${used.parameter}. The index of this parameter is being rebuilt; sign in again later`,
        { details: { type: used.type, parameter: used.parameter } },
      );
    }
  }
}
