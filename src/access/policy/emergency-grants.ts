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

/** True for a policy that emergency access activates: it is marked with `valueBoolean` true. */
export function isForEmergency(policy: JsonObject): boolean {
  const marks = extensionsOf(policy, OWN_EXTENSIONS.emergencyAccess);
  return marks.length > 0 && marks.every(({ valueBoolean }) => valueBoolean === true);
}

/**
 * The grants in force. Outside of emergencies, a marked policy stays in the list without its rules, so that the
 * membership still counts as bound by policies and does not get the default of its profile's type.
 */
export function grantsThatHold(grants: readonly PolicyGrant[], isEmergency: boolean): readonly PolicyGrant[] {
  return grants.map((grant) => {
    if (!isMarkedForEmergency(grant.policy)) return grant;
    if (isEmergency && isForEmergency(grant.policy)) return { ...grant, emergency: true as const };
    const { resource: _resource, compartment: _compartment, ...policy } = grant.policy;
    return { ...grant, policy };
  });
}
