import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { assertPolicyCompiles } from './access-policy.js';
import type { PolicyValue } from './parameters.js';

/**
 * Refuses an AccessPolicy that could not be used, when it is written and not when someone signs in.
 *
 * Its parameters have no values yet, so each name that occurs gets one that fits anywhere.
 *
 * @throws FhirError `policy-invalid`
 */
export function assertPolicyWrite(policy: AnyResource): void {
  const parameters = new Map<string, readonly PolicyValue[]>();
  for (const [, name] of JSON.stringify(policy).matchAll(/%([A-Za-z_][A-Za-z0-9_-]*)/g)) {
    parameters.set(name!, [{ kind: 'reference', type: 'Patient', id: 'any' }]);
  }
  assertPolicyCompiles({ reference: `AccessPolicy/${policy.id ?? 'new'}`, policy: elementsOf(policy), parameters });
}
