import { FhirError } from '../../fhir/error.js';
import { referenceText } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import type { ResourceStore } from '../../store/store.js';
import type { PolicyGrant } from '../policy/policy-grant.js';
import { assertMembershipUnderstood, distinctPolicies, readMembershipPolicies } from '../policy/membership-policies.js';
import type { PolicyParameters } from '../policy/parameters.js';
import { withPolicyExpansions } from '../terminology/policy-expansions.js';
import { loadForPolicies } from '../policy/write-constraint.js';
import { membershipSizeProblem, sizeOf } from '../policy/policy-size.js';

/**
 * The policies that a membership names, each with its parameters.
 *
 * @param own parameters that every policy has; the membership's own may replace them
 * @returns empty where the membership names none
 * @throws FhirError `policy-missing`, `policy-invalid`
 */
export async function readMemberPolicies(
  store: ResourceStore,
  project: string,
  membership: AnyResource,
  own: PolicyParameters,
): Promise<readonly PolicyGrant[]> {
  const policies = readMembershipPolicies(store.model, elementsOf(membership));
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
  await loadForPolicies(grants.map(({ policy }) => policy));
  const problem = membershipSizeProblem(grants.map(({ policy }) => sizeOf(policy)));
  if (problem !== undefined) assertMembershipUnderstood(membership.id!, { ...policies, problems: [problem] });
  const subject = referenceText(elementsOf(membership)['profile']);
  return Promise.all(grants.map((grant) => withPolicyExpansions(store, project, grant, subject)));
}
