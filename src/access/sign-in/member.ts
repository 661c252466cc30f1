import { parseDate } from '../../fhir/date.js';
import { FhirError } from '../../fhir/error.js';
import { extensionsOf, OWN_EXTENSIONS, withExtensions } from '../../fhir/own-extensions.js';
import { keyText, parseReference, referenceText, splitReference } from '../../fhir/reference.js';
import { elementsOf, type AnyResource, type JsonObject, isJsonObject } from '../../fhir/resource.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE, type ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { PutWrite } from '../../store/write.js';
import { assertMembershipUnderstood, distinctPolicies, readMembershipPolicies } from '../policy/membership-policies.js';
import type { PolicyParameters, PolicyValue } from '../policy/policy-criteria.js';
import type { PolicyGrant } from '../policy/policy-grant.js';
import { membershipSizeProblem, policySize } from '../policy/policy-shape.js';
import { loadForPolicies } from '../policy/write-constraint.js';
import { withPolicyExpansions } from '../terminology/policy-expansions.js';

// A member: everything that its rights depend on, which sign-in reads and checks, and later checks read again.

/** A membership with the id of its project. */
export interface FoundMembership {
  readonly project: string;
  readonly membership: AnyResource;
}

/** The data of a member that sign-in has read and checked. */
export interface Member {
  readonly project: string;
  /** The elements of the Project. */
  readonly settings: JsonObject;
  readonly membership: AnyResource;
  readonly user: string;
  readonly profile: string;
  readonly parameters: PolicyParameters;
  /** Empty if the type of the profile decides. */
  readonly grants: readonly PolicyGrant[];
  /** When its access ends, in milliseconds since 1970; Infinity: never. */
  readonly end: number;
  readonly revoked: Revocations;
  /** As JSON, the user and the versions that the rules were made from: equal rules of another time have others. */
  readonly versions: unknown;
}

/** The conditions of one session. */
export interface SessionTerms extends SessionStart {
  readonly requirePolicy: boolean;
  /** In milliseconds since 1970. */
  readonly now: number;
}

/**
 * Reads the resources that a member's rights depend on.
 *
 * @throws FhirError the codes of `signIn`
 */
export async function readMember(
  store: ResourceStore,
  { project, membership }: FoundMembership,
  { requirePolicy, now, ...start }: SessionTerms,
  call: CallOptions | undefined,
): Promise<Member> {
  const id = membership.id!;
  if (isInactive(membership)) throw new FhirError('membership-inactive', `ProjectMembership/${id} is not active`);
  const end = accessEnd(membership);
  assertNotExpired(end, now);
  const settings = await readActiveProject(store, project, call);
  const user = memberReference(store, membership, 'user');
  const profile = memberReference(store, membership, 'profile');
  const revoked = revocationsIn([membership, await checkUser(store, project, user, call)]);
  assertNotRevoked(revoked, start, now);
  const profiled = await readProfile(store, project, profile, call);
  const parameters = ownParameters(store, profiled);
  const grants = await readMemberPolicies(store, project, membership, parameters, call);
  if (grants.length === 0 && requirePolicy) {
    throw new FhirError('policy-required', `ProjectMembership/${id} names no access policy, and one is required`);
  }
  // Of other profiles, only the id decides.
  const deciding = [membership, ...(profiled.resourceType === 'RelatedPerson' ? [profiled] : [])];
  const read = [...deciding.map(({ meta }) => meta), ...grants.map(({ policy }) => policy['meta'])];
  const versions = [user, profile, read];
  return { project, settings, membership, user, profile, parameters, grants, end, revoked, versions };
}

/**
 * A fingerprint of the data that a member's rights depend on: equal strings mean equal rights. It excludes elements
 * such as `userName`, which grant nothing.
 */
export function rightsOf({ settings, membership, user, profile, parameters, grants, end }: Member): string {
  const elements = elementsOf(membership);
  return JSON.stringify([
    [settings['superAdmin'], user, profile, elements['admin'], end],
    extensionsOf(elements, OWN_EXTENSIONS.clearance),
    [...parameters],
    grants.map(({ reference, policy, parameters: given }) => [reference, policy['meta'], [...given]]),
  ]);
}

/** The current state of a member. */
export interface CurrentState {
  readonly member: Member;
  /** When the membership was last changed: ISO 8601, UTC. */
  readonly lastUpdated: string;
  /** True if the directory above the projects has the membership. */
  readonly isListed: boolean;
}

/** Reads a member again, by the same membership. @throws FhirError the codes of `signIn` */
export async function readMemberAgain(
  store: ResourceStore,
  before: {
    readonly project: string;
    readonly membership: { readonly id?: string | undefined };
    readonly user: string;
  },
  terms: SessionTerms,
  call: CallOptions | undefined,
): Promise<CurrentState> {
  const { project, user } = before;
  const id = before.membership.id!;
  const key = { type: 'ProjectMembership', id };
  const keys = [project, SERVER_SCOPE].map((scope) => ({ ...key, project: scope }));
  const [found, entry] = await store.read(keys, call);
  // The id may have been reused for somebody else.
  if (found?.status !== 'found' || memberReference(store, found.resource, 'user') !== user) throw membershipMissing(id);
  return {
    member: await readMember(store, { project, membership: found.resource }, terms, call),
    lastUpdated: found.lastUpdated,
    isListed: entry?.status === 'found',
  };
}

export function membershipMissing(id: string): FhirError {
  return new FhirError('membership-missing', `ProjectMembership/${id} was not found`);
}

/** The elements of a Project whose members may sign in. @throws FhirError `project-missing` */
export async function readActiveProject(
  store: ResourceStore,
  id: string,
  call: CallOptions | undefined,
): Promise<JsonObject> {
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id }], call);
  if (found?.status !== 'found') throw new FhirError('project-missing', `Project/${id} does not exist`);
  if (isInactive(found.resource)) throw new FhirError('project-missing', `Project/${id} is not active`);
  return elementsOf(found.resource);
}

/** True for an inactive Project or membership. Any value of `active` other than `true` means inactive. */
export function isInactive(resource: AnyResource): boolean {
  const { active } = elementsOf(resource);
  return active !== undefined && active !== true;
}

/**
 * The `Type/id` in an element of a membership.
 *
 * @throws FhirError `membership-missing` - the membership has none
 */
function memberReference({ model }: ResourceStore, membership: AnyResource, element: 'user' | 'profile'): string {
  const reference = parseReference(referenceText(elementsOf(membership)[element]) ?? '', model.baseUrl);
  if (reference?.kind === 'local') return keyText(reference);
  throw new FhirError('membership-missing', `The membership names no ${element}`);
}

/**
 * Checks the User, client or Bot of a membership.
 *
 * @returns the record of a User's revoked sessions, if it has one
 * @throws FhirError `user-missing`, `membership-inactive` - it is gone, or switched off
 */
async function checkUser(
  store: ResourceStore,
  project: string,
  user: string,
  call: CallOptions | undefined,
): Promise<AnyResource | undefined> {
  const { type, id } = splitReference(user);
  const isPerson = type === 'User';
  const key = { project: isPerson ? SERVER_SCOPE : project, type, id };
  const [found, revoked] = await store.read(isPerson ? [key, revokedUserKey(id)] : [key], call);
  if (found?.status !== 'found')
    throw new FhirError('user-missing', `${user} of the membership does not exist any more`);
  if (isSwitchedOff(found.resource)) throw new FhirError('membership-inactive', `${user} is switched off`);
  return revoked?.status === 'found' ? revoked.resource : undefined;
}

/** True for a User, client or Bot that may not sign in. */
export function isSwitchedOff(resource: AnyResource): boolean {
  return elementsOf(resource)['status'] === 'off';
}

/** @throws FhirError `profile-missing` */
async function readProfile(
  store: ResourceStore,
  project: string,
  profile: string,
  call: CallOptions | undefined,
): Promise<AnyResource> {
  const [found] = await store.read([{ project, ...splitReference(profile) }], call);
  if (found?.status === 'found') return found.resource;
  throw new FhirError(
    'profile-missing',
    `${profile}, the profile of this member, does not exist any more; an administrator can invite the person again`,
  );
}

/** `%profile` for everyone, `%patient` for a Patient and a RelatedPerson; a policy's own parameters may replace them. */
export function ownParameters(
  { model }: Pick<ResourceStore, 'model'>,
  profile: AnyResource,
): Map<string, readonly PolicyValue[]> {
  const patient =
    profile.resourceType === 'Patient'
      ? profile.id
      : profile.resourceType === 'RelatedPerson'
        ? relatedPatient(profile, Date.now(), model.baseUrl)
        : undefined;
  return new Map<string, readonly PolicyValue[]>([
    ['profile', [{ kind: 'reference', type: profile.resourceType, id: profile.id! }]],
    ...(patient === undefined ? [] : [['patient', [{ kind: 'reference', type: 'Patient', id: patient }]] as const]),
  ]);
}

/**
 * The id of the Patient whose compartment a RelatedPerson sees: `RelatedPerson.patient` while the record is active and
 * its period holds. A malformed link gives no Patient.
 *
 * `Patient.link` is not followed: after a merge, staff change `RelatedPerson.patient`.
 *
 * @param now milliseconds since 1970
 */
export function relatedPatient(related: AnyResource, now: number, baseUrl?: string): string | undefined {
  const { patient, active = true, period = {} } = elementsOf(related);
  if (active !== true || !isJsonObject(period) || !holds(period, now)) return undefined;
  const reference = parseReference(referenceText(patient) ?? '', baseUrl);
  return reference?.kind === 'local' && reference.type === 'Patient' ? reference.id : undefined;
}

function holds({ start, end }: { readonly start?: unknown; readonly end?: unknown }, now: number): boolean {
  const from = start === undefined ? -Infinity : typeof start === 'string' ? parseDate(start)?.low : undefined;
  const until = end === undefined ? Infinity : typeof end === 'string' ? parseDate(end)?.high : undefined;
  return from !== undefined && until !== undefined && from <= now && now < until;
}

/**
 * The policies that a membership names, each with its parameters.
 *
 * @param own parameters that every policy has; the membership's own may replace them
 * @returns empty where the membership names none
 * @throws FhirError `policy-missing`, `policy-invalid`
 */
async function readMemberPolicies(
  store: ResourceStore,
  project: string,
  membership: AnyResource,
  own: PolicyParameters,
  call: CallOptions | undefined,
): Promise<readonly PolicyGrant[]> {
  const policies = readMembershipPolicies(store.model, elementsOf(membership));
  assertMembershipUnderstood(membership.id!, policies);
  const grants = await Promise.all(
    distinctPolicies(policies.chosen).map(async ({ reference, id, parameters }): Promise<PolicyGrant> => {
      const [found] = await store.read([{ project, type: 'AccessPolicy', id }], call);
      if (found?.status !== 'found') {
        throw new FhirError('policy-missing', `${reference} of the membership does not exist`, {
          details: { policy: reference },
        });
      }
      return { reference, policy: elementsOf(found.resource), parameters: new Map([...own, ...parameters]) };
    }),
  );
  await loadForPolicies(grants.map(({ policy }) => policy));
  const problem = membershipSizeProblem(grants.map(({ policy }) => policySize(policy)));
  if (problem !== undefined) assertMembershipUnderstood(membership.id!, { ...policies, problems: [problem] });
  const subject = referenceText(elementsOf(membership)['profile']);
  return Promise.all(grants.map((grant) => withPolicyExpansions(store, project, grant, subject, call)));
}

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
interface Revocations {
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
interface SessionStart {
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

/**
 * The scope of the records of revoked Users: sessions that began before the recorded time are refused. The time is not
 * in the User, because a member may change the extensions of its User, so a revoked session could undo its own end. An
 * id never contains a slash, so no caller has this project.
 */
const REVOKED_USERS = '/revoked-users';

/** @param user its id */
export function revokedUserKey(user: string): ResourceKey {
  return { project: REVOKED_USERS, type: 'User', id: user };
}

/** @param now ISO 8601 instant, UTC */
export function revokeUser(user: string, now: string): PutWrite {
  const record: AnyResource = { resourceType: 'User', id: user };
  const resource = withExtensions(record, OWN_EXTENSIONS.sessionsNotBefore, [{ valueInstant: now }]);
  return { kind: 'put', key: revokedUserKey(user), resource };
}
