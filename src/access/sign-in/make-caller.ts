import type { AuditOptions } from '../../audit/audit.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { memberCaller, type MemberCaller } from '../caller.js';
import { compilePolicies } from '../policy/compile-policies.js';
import { administratorRules, defaultRules, joinRules, ownPlaceRules, ownUserRules } from '../policy/default-rules.js';
import type { PolicyParameters } from '../policy/parameters.js';
import { ruleElements, type PolicyGrant } from '../policy/policy-grant.js';
import { superAdminPowers } from '../policy/super-admin-powers.js';
import type { AccessRules } from '../rule.js';
import type { Member } from './read-member.js';

/**
 * Creates the caller of a member, with the rules of its policies, or without policies those of its profile type.
 *
 * @param request what the caller's audit records say of its request
 *
 * @throws FhirError `policy-invalid`
 */
export function makeCaller(
  model: FhirModel,
  { project, settings, membership, user, profile, parameters, grants }: Member,
  request: Pick<AuditOptions, 'purpose' | 'requestId'> = {},
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
    admin
      ? administratorRules(model, project, powers !== undefined && superAdmin)
      : ownPlaceRules(model, project, membership.id!),
  ]);
  const bound = grants.length > 0;
  return memberCaller({
    ...stated(request),
    project,
    membership: membership.id!,
    user,
    profile,
    admin,
    superAdmin,
    powers,
    bound,
    rules,
  });
}

function stated({ purpose, requestId }: Pick<AuditOptions, 'purpose' | 'requestId'>): Partial<MemberCaller> {
  return { ...(purpose === undefined ? {} : { purpose }), ...(requestId === undefined ? {} : { requestId }) };
}

/**
 * Compiles the rules of each named type once, so that errors are found at sign-in. Rules for all types are checked with
 * one type, and compiled for others on first use: 150 types would take longer than the rest of the sign-in.
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
