import type { AuditedEmergency } from '../../audit/audit-record.js';
import type { AuditOptions } from '../../audit/audit.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { memberCaller, type MemberCaller } from '../caller.js';
import { clearanceLimits, narrowRules } from '../narrow/limits.js';
import { clearanceOf } from '../policy/clearance-criteria.js';
import { compilePolicies } from '../policy/compile-policies.js';
import { administratorRules, defaultRules, joinRules, ownPlaceRules, ownUserRules } from '../policy/default-rules.js';
import type { PolicyParameters } from '../policy/policy-criteria.js';
import { grantsThatHold, ruleElements, type PolicyGrant, superAdminPowers } from '../policy/policy-grant.js';
import type { AccessRules } from '../rule.js';
import type { Member } from './member.js';

/** Emergency access, by its own clock if there is one. */
export interface Emergency extends AuditedEmergency {
  readonly clock?: (() => Date) | undefined;
}

/** The purpose and id of the request for audit records, and the emergency if there is one. */
export interface CallerRequest extends Pick<AuditOptions, 'purpose' | 'requestId'> {
  readonly emergency?: Emergency | undefined;
}

/**
 * Creates the caller of a member in steps, with the rules of its policies, or without policies those of its profile type.
 *
 * @throws FhirError `policy-invalid`
 */
export function* makingCaller(
  model: FhirModel,
  { project, settings, membership, user, profile, parameters, grants: named }: Member,
  request: CallerRequest = {},
): Generator<void, MemberCaller> {
  const admin = elementsOf(membership)['admin'] === true;
  const superAdmin = settings['superAdmin'] === true;
  const grants = grantsThatHold(named, request.emergency !== undefined);
  const powers = superAdminPowers(grants);
  const granted =
    grants.length > 0
      ? yield* policyRules(model, grants)
      : defaultRules(model, splitReference(profile).type, patientOf(parameters));
  const all = joinRules(model, [
    granted,
    ownUserRules(model, user),
    admin
      ? administratorRules(model, project, powers !== undefined && superAdmin)
      : ownPlaceRules(model, project, membership.id!),
  ]);
  const cleared = clearanceOf(elementsOf(membership));
  const rules = cleared === undefined ? all : narrowRules(all, clearanceLimits('the clearance of the member', cleared));
  const bound = grants.length > 0;
  const facts = {
    ...stated(request),
    project,
    membership: membership.id!,
    user,
    profile,
    admin,
    superAdmin,
    powers,
    bound,
    patient: patientOf(parameters),
    rules,
  };
  return memberCaller(facts, request.emergency?.clock);
}

function stated({ purpose, requestId, emergency }: CallerRequest): Partial<MemberCaller> {
  return { purpose, requestId, emergency: emergency && { reason: emergency.reason, until: emergency.until } };
}

/**
 * Compiles the rules of each named type once, so that errors are found at sign-in. Rules for all types are checked with
 * one type, and compiled for others on first use: 150 types would take longer than the rest of the sign-in.
 */
function* policyRules(model: FhirModel, grants: readonly PolicyGrant[]): Generator<void, AccessRules> {
  const rules = compilePolicies(model, grants);
  const named = grants.flatMap(({ policy }) => ruleElements(policy).map(({ resourceType }) => resourceType));
  for (const type of new Set(named.map((one) => (one === '*' ? 'Patient' : one)))) {
    if (typeof type === 'string') yield* rules.compiling(type);
  }
  return rules;
}

function patientOf(parameters: PolicyParameters): string | undefined {
  const [patient] = parameters.get('patient') ?? [];
  return patient?.kind === 'reference' ? patient.id : undefined;
}
