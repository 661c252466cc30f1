import { FhirError } from '../../fhir/error.js';
import { idOf, parseReference, referenceText } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { or, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE, type ResourceStore, type StoredResource } from '../../store/store.js';
import { observed } from '../../telemetry/observed.js';
import { memberCaller, type MemberCaller } from '../caller.js';
import { assertMembershipUnderstood, distinctPolicies, readMembershipPolicies } from '../policy/membership-policies.js';
import { compilePolicies, type PolicyGrant } from '../policy/access-policy.js';
import { administratorRules, defaultRules, joinRules, ownUserRules } from '../policy/default-rules.js';
import type { PolicyParameters } from '../policy/parameters.js';
import type { AccessRules } from '../rule.js';
import { ownParameters } from './own-parameters.js';
import { membershipSizeProblem, sizeOf } from '../policy/policy-size.js';
import { superAdminPowers } from '../policy/super-admin-powers.js';

/** An id, a `Type/id`, or a Reference. */
export type ResourceRef = string | { readonly reference?: string | undefined };

/** Whom the host's token stands for, after the host has verified it. */
export type SignInIdentity =
  | { readonly membership: ResourceRef }
  | { readonly project: ResourceRef; readonly user: ResourceRef }
  | { readonly project: ResourceRef; readonly client: ResourceRef };

export interface SignInOptions {
  /**
   * Refuse members whose membership names no access policy, instead of applying the default of their profile type.
   * Default false.
   */
  readonly requirePolicy?: boolean | undefined;
}

/**
 * Makes the caller of a membership.
 *
 * Everything that must be true of a member is checked here, and holds for the caller made: sign in anew per request, or
 * as often as changes to members and policies shall be felt. The host has verified the token; passwords are not looked at.
 *
 * @throws FhirError `invalid` - the credentials name nothing
 * @throws FhirError `membership-missing` - no such membership, or none of that user or client in the project
 * @throws FhirError `membership-ambiguous` - the user has several; `details.memberships` lists them
 * @throws FhirError `membership-inactive` - it was made inactive
 * @throws FhirError `project-missing` - its project is gone or inactive
 * @throws FhirError `user-missing`, `profile-missing` - the User or the profile is gone
 * @throws FhirError `policy-missing` - an access policy that the membership names is gone
 * @throws FhirError `policy-invalid` - a policy, or the membership's choice of policies, is not understood; no default
 * takes its place
 * @throws FhirError `policy-required` - see {@link SignInOptions}
 *
 * @example
 * const caller = await signIn(store, { project: token.project, user: token.sub });
 */
export function signIn(
  store: ResourceStore,
  credentials: SignInIdentity,
  options: SignInOptions = {},
): Promise<MemberCaller> {
  return observed(store, 'sign-in', {}, async () =>
    checkMember(store, await findMembership(store, credentials), options),
  );
}

/** A caller as its membership is now. */
export interface CurrentMember {
  readonly caller: MemberCaller;
  /** When the membership was last written: ISO 8601, UTC. */
  readonly lastUpdated: string;
  /** True where the directory above the projects has the membership. */
  readonly isListed: boolean;
}

/** Signs a caller in once more, through the same membership. @throws FhirError as {@link signIn} */
export async function signInAgain(store: ResourceStore, caller: MemberCaller): Promise<CurrentMember> {
  const { project, membership: id, user } = caller;
  const key = { type: 'ProjectMembership', id };
  const [found, entry] = await store.read([
    { ...key, project },
    { ...key, project: SERVER_SCOPE },
  ]);
  // An id may have been used again, for somebody else.
  if (found?.status !== 'found' || referenceIn(elementsOf(found.resource), 'user') !== user) {
    throw new FhirError('membership-missing', `ProjectMembership/${id} was not found`);
  }
  return {
    caller: await checkMember(store, { project, membership: found.resource }, OPTIONS.get(caller) ?? {}),
    lastUpdated: found.lastUpdated,
    isListed: entry?.status === 'found',
  };
}

/** How each caller signed in, for the checks that repeat it. */
const OPTIONS = new WeakMap<object, SignInOptions>();

async function checkMember(
  store: ResourceStore,
  { project, membership }: FoundMembership,
  options: SignInOptions,
): Promise<MemberCaller> {
  const elements = elementsOf(membership);
  if (isInactive(elements)) {
    throw new FhirError('membership-inactive', `ProjectMembership/${membership.id!} is not active`);
  }
  const settings = await activeProject(store, project);
  const user = referenceIn(elements, 'user');
  const profile = referenceIn(elements, 'profile');
  await assertUser(store, project, user);
  const profileResource = await readProfile(store, project, profile);
  const parameters = ownParameters(profileResource);
  const grants = await readPolicies(store, project, membership, parameters);
  if (grants.length === 0 && options.requirePolicy === true) {
    throw new FhirError(
      'policy-required',
      `ProjectMembership/${membership.id!} names no access policy, and one is required`,
    );
  }
  const admin = elements['admin'] === true;
  const superAdmin = settings['superAdmin'] === true;
  const powers = superAdminPowers(grants);
  const rules = joinRules([
    grants.length > 0 ? checked(compilePolicies(grants), grants) : defaultRules(typeOf(profile), patientOf(parameters)),
    ownUserRules(user),
    ...(admin ? [administratorRules(project, powers !== undefined && superAdmin)] : []),
  ]);
  const caller = memberCaller({
    project,
    membership: membership.id!,
    user,
    profile,
    admin,
    superAdmin,
    powers,
    bound: grants.length > 0,
    rules,
  });
  OPTIONS.set(caller, options);
  return caller;
}

interface FoundMembership {
  readonly project: string;
  readonly membership: AnyResource;
}

async function findMembership(store: ResourceStore, credentials: SignInIdentity): Promise<FoundMembership> {
  if ('membership' in credentials) return membershipById(store, requireId(credentials.membership, 'ProjectMembership'));
  const project = requireId(credentials.project, 'Project');
  const references =
    'user' in credentials
      ? [`User/${requireId(credentials.user, 'User')}`]
      : programs(credentials.client).map((type) => `${type}/${requireId(credentials.client, type)}`);
  const { matches } = await store.search({
    project,
    type: 'ProjectMembership',
    criteria: or(references.map(isUser)),
  });
  // Where there are no members, the project itself may be the mistake.
  if (matches.length === 0) await activeProject(store, project);
  return { project, membership: chooseMembership(matches, project) };
}

/** A membership lies in its project; where that is, stands in the directory above the projects. */
async function membershipById(store: ResourceStore, id: string): Promise<FoundMembership> {
  const [entry] = await store.read([{ project: SERVER_SCOPE, type: 'ProjectMembership', id }]);
  if (entry?.status === 'found') {
    const project = idOf(referenceText(elementsOf(entry.resource)['project']) ?? '', 'Project');
    if (project !== undefined) {
      const [found] = await store.read([{ project, type: 'ProjectMembership', id }]);
      if (found?.status === 'found') return { project, membership: found.resource };
    }
  }
  throw new FhirError('membership-missing', `ProjectMembership/${id} was not found`);
}

function chooseMembership(found: readonly StoredResource[], project: string): AnyResource {
  const active = found.filter(({ resource }) => !isInactive(elementsOf(resource)));
  const candidates = active.length > 0 ? active : found;
  if (candidates.length === 0) throw new FhirError('membership-missing', `No such member in Project/${project}`);
  if (active.length > 1) {
    const memberships = active.map(({ resource }) => ({
      membership: `ProjectMembership/${resource.id!}`,
      profile: referenceText(elementsOf(resource)['profile']),
    }));
    throw new FhirError(
      'membership-ambiguous',
      `The user has ${active.length} memberships in Project/${project}; sign in with one of them: ${memberships.map(({ membership }) => membership).join(', ')}`,
      { details: { memberships } },
    );
  }
  return candidates[0]!.resource;
}

async function activeProject(store: ResourceStore, id: string): Promise<JsonObject> {
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id }]);
  if (found?.status !== 'found') throw new FhirError('project-missing', `Project/${id} does not exist`);
  const elements = elementsOf(found.resource);
  if (isInactive(elements)) throw new FhirError('project-missing', `Project/${id} is not active`);
  return elements;
}

async function assertUser(store: ResourceStore, project: string, user: string): Promise<void> {
  const { type, id } = split(user);
  const [found] = await store.read([{ project: type === 'User' ? SERVER_SCOPE : project, type, id }]);
  if (found?.status !== 'found')
    throw new FhirError('user-missing', `${user} of the membership does not exist any more`);
  if (isSwitchedOff(found.resource)) throw new FhirError('membership-inactive', `${user} is switched off`);
}

/** True for a User or program that may not sign in. */
export function isSwitchedOff(resource: AnyResource): boolean {
  return elementsOf(resource)['status'] === 'off';
}

async function readProfile(store: ResourceStore, project: string, profile: string): Promise<AnyResource> {
  const [found] = await store.read([{ project, ...split(profile) }]);
  if (found?.status === 'found') return found.resource;
  throw new FhirError(
    'profile-missing',
    `${profile}, the profile of this member, does not exist any more; an administrator can invite the person again`,
  );
}

async function readPolicies(
  store: ResourceStore,
  project: string,
  membership: AnyResource,
  own: PolicyParameters,
): Promise<PolicyGrant[]> {
  const policies = readMembershipPolicies(elementsOf(membership));
  assertMembershipUnderstood(membership.id!, policies);
  const grants = await Promise.all(
    distinctPolicies(policies.chosen).map(async ({ reference, id, parameters }): Promise<PolicyGrant> => {
      const [found] = await store.read([{ project, type: 'AccessPolicy', id }]);
      if (found?.status !== 'found') {
        throw new FhirError('policy-missing', `${reference} of the membership does not exist`, {
          details: { policy: reference },
        });
      }
      return { reference, policy: elementsOf(found.resource), parameters: new Map([...own, ...parameters]) };
    }),
  );
  const problem = membershipSizeProblem(grants.map(({ policy }) => sizeOf(policy)));
  if (problem !== undefined) assertMembershipUnderstood(membership.id!, { ...policies, problems: [problem] });
  return grants;
}

/**
 * Compiles the rules of each named type once, so that a mistake in one is found at sign-in and not in the middle of work.
 * Rules for all types stand for all by one type, and are compiled for another when it is first asked for: 150 types would
 * take longer than all the rest of a sign-in.
 */
function checked(rules: AccessRules, grants: readonly PolicyGrant[]): AccessRules {
  for (const { policy } of grants) {
    const elements = Array.isArray(policy['resource']) ? policy['resource'].filter(isJsonObject) : [];
    for (const { resourceType: type } of elements)
      if (typeof type === 'string') rules.rulesFor(type === '*' ? 'Patient' : type);
  }
  return rules;
}

/** Anything but `true` that stands there was meant to switch something off. */
function isInactive({ active }: JsonObject): boolean {
  return active !== undefined && active !== true;
}

function isUser(reference: string): Criteria {
  return refersTo('user', split(reference));
}

/** A client is named by `ClientApplication/1` or `Bot/1`; a bare id may be either. */
function programs(client: ResourceRef): readonly string[] {
  const types = ['ClientApplication', 'Bot'].filter((type) => idOf(client, type) !== undefined);
  if (types.length > 0) return types;
  throw new FhirError('invalid', 'Sign-in needs the id of a ClientApplication or Bot, as id, Type/id or Reference');
}

function requireId(name: ResourceRef, type: string): string {
  const id = idOf(name, type);
  if (id === undefined)
    throw new FhirError('invalid', `Sign-in needs the id of a ${type}, as id, ${type}/id or Reference`);
  return id;
}

function referenceIn(elements: JsonObject, name: string): string {
  const reference = referenceText(elements[name]);
  if (reference !== undefined && parseReference(reference)?.kind === 'local') return reference;
  throw new FhirError('membership-missing', `The membership names no ${name}`);
}

function split(reference: string): { readonly type: string; readonly id: string } {
  const [type, id] = reference.split('/') as [string, string];
  return { type, id };
}

function typeOf(reference: string): string {
  return split(reference).type;
}

function patientOf(parameters: PolicyParameters): string | undefined {
  const [patient] = parameters.get('patient') ?? [];
  return patient?.kind === 'reference' ? patient.id : undefined;
}
