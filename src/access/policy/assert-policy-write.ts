import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { assertPolicyCompiles } from './access-policy.js';
import type { PolicyValue } from './parameters.js';

/**
 * Refuses an AccessPolicy that could not be used, when it is written and not when someone signs in.
 *
 * Its parameters have no values yet, so each name that occurs gets one that fits where it stands: a reference for the owner
 * of a compartment, and elsewhere a text that is an id, a code, a number and a date in one.
 *
 * @throws FhirError `policy-invalid`
 */
export function assertPolicyWrite(policy: AnyResource): void {
  const text = JSON.stringify(policy);
  const owners = new Set([...text.matchAll(COMPARTMENTS)].flatMap(([part]) => namesIn(part)));
  const parameters = new Map(
    namesIn(text).map((name): [string, readonly PolicyValue[]] => [name, [owners.has(name) ? OWNER : VALUE]]),
  );
  assertPolicyCompiles({ reference: `AccessPolicy/${policy.id ?? 'new'}`, policy: elementsOf(policy), parameters });
}

/** `_compartment=…` in criteria, and the element itself. */
const COMPARTMENTS = /_compartment=[^&"]*|"compartment":\{[^}]*/g;
const OWNER: PolicyValue = { kind: 'reference', type: 'Patient', id: '2000' };
const VALUE: PolicyValue = { kind: 'string', text: '2000' };

function namesIn(text: string): string[] {
  return [...text.matchAll(/%([A-Za-z_][A-Za-z0-9_-]*)/g)].map(([, name]) => name!);
}
