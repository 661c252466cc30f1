import { parametersUsed } from '../../access/policy/validate-policy.js';
import { FhirError } from '../../fhir/error.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { andMore } from '../../fhir/messages/quote.js';
import type { OutcomeIssue } from '../../fhir/operation-outcome.js';
import { splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { join } from '../session/body-reader.js';
import type { ProjectSession } from '../session/project-session.js';
import type { MembershipSettings } from './membership-settings.js';

/**
 * Rejects parameters that the policy does not use: a misspelled name would leave the policy without its value, and under
 * `:not` nobody would notice the mistake.
 *
 * @param path of the settings in the body
 * @throws FhirError `invalid` - one issue per parameter
 */
export async function assertParametersUsed(
  session: ProjectSession,
  settings: MembershipSettings,
  path: string,
): Promise<void> {
  const access = (settings.access ?? []).map((item, index) => ({ ...item, path: `${join(path, 'access')}[${index}]` }));
  const withParameters = access.filter(({ parameter = [] }) => parameter.length > 0);
  if (withParameters.length === 0) return;
  const policies = await session.guard.read(
    withParameters.map(({ policy }) => splitReference(policy.reference)),
    session.options,
  );
  const issues = withParameters.flatMap(({ policy, parameter = [], path: at }, index): OutcomeIssue[] => {
    const found = policies[index]!;
    // A missing policy has its own error.
    if (found.status !== 'found') return [];
    const used = parametersUsed(elementsOf(found.resource));
    return parameter.flatMap(({ name }, position) => {
      if (used.has(name)) return [];
      const hint = didYouMean(name, used);
      const diagnostics = `${at}.parameter[${position}].name: ${policy.reference} does not use %${name}.${hint}`;
      return [{ code: 'invalid', diagnostics, expression: [`${at}.parameter[${position}].name`] }];
    });
  });
  const [first] = issues;
  if (first === undefined) return;
  throw new FhirError('invalid', `${first.diagnostics!}${andMore(issues)}`, { issues });
}
