import { membershipSizeProblem, sizeOf } from '../../access/policy/policy-shape.js';
import { FhirError } from '../../fhir/error.js';
import { splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { join } from '../session/body-reader.js';
import type { ProjectSession } from '../session/project-session.js';
import type { MembershipSettings } from './membership-settings.js';

/**
 * Rejects policies that are too large in total: sign-in would reject them every time.
 *
 * @param path of the settings in the body
 * @throws FhirError `invalid`
 */
export async function assertAccessSize(
  session: ProjectSession,
  settings: MembershipSettings,
  path: string,
): Promise<void> {
  const single = settings.accessPolicy == null ? [] : [{ policy: settings.accessPolicy, parameter: undefined }];
  const access = [...single, ...(settings.access ?? [])];
  // A single policy was checked when it was written.
  if (access.length < 2) return;
  const distinct = new Map(access.map((item) => [JSON.stringify([item.policy.reference, item.parameter]), item]));
  const found = await session.guard.read(
    [...distinct.values()].map(({ policy }) => splitReference(policy.reference)),
    session.options,
  );
  const sizes = found.flatMap((result) => (result.status === 'found' ? [sizeOf(elementsOf(result.resource))] : []));
  const problem = membershipSizeProblem(sizes);
  if (problem === undefined) return;
  const at = join(path, problem.path);
  const diagnostics = `${at}: ${problem.message}`;
  throw new FhirError('invalid', diagnostics, { issues: [{ code: 'invalid', diagnostics, expression: [at] }] });
}
