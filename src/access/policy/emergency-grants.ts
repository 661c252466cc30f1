import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import type { JsonObject } from '../../fhir/resource.js';
import type { PolicyGrant } from './policy-grant.js';

/**
 * True for a policy that is marked for emergency access. Any value of the extension marks it, so that a malformed one
 * grants nothing outside of emergencies.
 */
export function isMarkedForEmergency(policy: JsonObject): boolean {
  return extensionsOf(policy, OWN_EXTENSIONS.emergencyAccess).length > 0;
}

/** True for a policy that emergency access takes: it is marked with `valueBoolean` true. */
export function isForEmergency(policy: JsonObject): boolean {
  const marks = extensionsOf(policy, OWN_EXTENSIONS.emergencyAccess);
  return marks.length > 0 && marks.every(({ valueBoolean }) => valueBoolean === true);
}

/**
 * The grants that hold. A marked policy without emergency keeps its place without its rules: the membership is bound by
 * policies all the same, and gets no default of its profile's type.
 */
export function grantsThatHold(grants: readonly PolicyGrant[], isEmergency: boolean): readonly PolicyGrant[] {
  return grants.map((grant) => {
    if (!isMarkedForEmergency(grant.policy)) return grant;
    if (isEmergency && isForEmergency(grant.policy)) return { ...grant, emergency: true as const };
    const { resource: _resource, compartment: _compartment, ...policy } = grant.policy;
    return { ...grant, policy };
  });
}
