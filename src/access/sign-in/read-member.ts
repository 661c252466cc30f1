import { FhirError } from '../../fhir/error.js';
import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { elementsOf, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import type { ResourceStore } from '../../store/store.js';
import type { PolicyGrant } from '../policy/policy-grant.js';
import type { PolicyParameters } from '../policy/parameters.js';
import { isInactive, readActiveProject } from './active-project.js';
import { checkUser, memberReference, readProfile } from './member-people.js';
import { readMemberPolicies } from './member-policies.js';
import type { FoundMembership } from './memberships-of.js';
import { ownParameters } from './own-parameters.js';
import {
  accessEnd,
  assertNotExpired,
  assertNotRevoked,
  revocationsIn,
  type Revocations,
  type SessionStart,
} from './session-times.js';

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
): Promise<Member> {
  const id = membership.id!;
  if (isInactive(membership)) throw new FhirError('membership-inactive', `ProjectMembership/${id} is not active`);
  const end = accessEnd(membership);
  assertNotExpired(end, now);
  const settings = await readActiveProject(store, project);
  const user = memberReference(membership, 'user');
  const profile = memberReference(membership, 'profile');
  const revoked = revocationsIn([membership, await checkUser(store, project, user)]);
  assertNotRevoked(revoked, start, now);
  const parameters = ownParameters(await readProfile(store, project, profile));
  const grants = await readMemberPolicies(store, project, membership, parameters);
  if (grants.length === 0 && requirePolicy) {
    throw new FhirError('policy-required', `ProjectMembership/${id} names no access policy, and one is required`);
  }
  return { project, settings, membership, user, profile, parameters, grants, end, revoked };
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
