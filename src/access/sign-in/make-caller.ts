import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { splitReference } from '../../fhir/reference.js';
import { elementsOf, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { memberCaller, type MemberCaller } from '../caller.js';
import { compilePolicies } from '../policy/compile-policies.js';
import { administratorRules, defaultRules, joinRules, ownUserRules } from '../policy/default-rules.js';
import type { PolicyParameters } from '../policy/parameters.js';
import { ruleElements, type PolicyGrant } from '../policy/policy-grant.js';
import { superAdminPowers } from '../policy/super-admin-powers.js';
import type { AccessRules } from '../rule.js';

/** What sign-in found out about a member. */
export interface Member {
  readonly project: string;
  /** The elements of the Project. */
  readonly settings: JsonObject;
  readonly membership: AnyResource;
  readonly user: string;
  readonly profile: string;
  readonly parameters: PolicyParameters;
  /** Empty where the type of the profile decides. */
  readonly grants: readonly PolicyGrant[];
}

/**
 * The caller of a member, with the rules of its policies, or of its profile's type where it has none.
 *
 * @throws FhirError `policy-invalid`
 */
export function makeCaller(
  model: FhirModel,
  { project, settings, membership, user, profile, parameters, grants }: Member,
): MemberCaller {
  const admin = elementsOf(membership)['admin'] === true;
  const superAdmin = settings['superAdmin'] === true;
  const powers = superAdminPowers(grants);
  const granted =
    grants.length > 0
      ? policyRules(model, grants)
      : defaultRules(model, splitReference(profile).type, patientOf(parameters));
  const rules = joinRules(model, [
    granted,
    ownUserRules(model, user),
    ...(admin ? [administratorRules(model, project, powers !== undefined && superAdmin)] : []),
  ]);
  const bound = grants.length > 0;
  return memberCaller({ project, membership: membership.id!, user, profile, admin, superAdmin, powers, bound, rules });
}

/**
 * Compiles the rules of each named type once, so that a mistake in one is found at sign-in and not in the middle of work.
 * Rules for all types stand for all by one type, and are compiled for another when it is first asked for: 150 types would
 * take longer than all the rest of a sign-in.
 */
function policyRules(model: FhirModel, grants: readonly PolicyGrant[]): AccessRules {
  const rules = compilePolicies(model, grants);
  for (const { resourceType: type } of grants.flatMap(({ policy }) => ruleElements(policy))) {
    if (typeof type === 'string') rules.rulesFor(type === '*' ? 'Patient' : type);
  }
  return rules;
}

function patientOf(parameters: PolicyParameters): string | undefined {
  const [patient] = parameters.get('patient') ?? [];
  return patient?.kind === 'reference' ? patient.id : undefined;
}
