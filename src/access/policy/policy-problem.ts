import { andMore } from '../../fhir/messages/quote.js';
import { FhirError } from '../../fhir/error.js';

/** Something in an AccessPolicy that this library does not understand, or that has no effect. */
export interface PolicyProblem {
  /** Where in the policy: `resource[2].hiddenField`. */
  readonly path: string;
  /** The problem and its remedy. It contains names from the policy, never values of other resources. */
  readonly message: string;
  /** An error rejects the policy on write, and its members cannot sign in. A warning rejects nothing. */
  readonly severity: 'error' | 'warning';
}

/**
 * The error `policy-invalid` for a policy with problems: one issue each, with its path; the first also in the message.
 *
 * @param reference `AccessPolicy/1`
 */
export function policyError(
  reference: string,
  problems: readonly Pick<PolicyProblem, 'path' | 'message'>[],
  cause?: unknown,
): FhirError {
  const [first] = problems as readonly [PolicyProblem];
  const rule = /^resource\[(\d+)\]/.exec(first.path)?.[1];
  return new FhirError('policy-invalid', `${reference}, ${first.path}: ${first.message}${andMore(problems)}`, {
    details: { policy: reference, ...(rule === undefined ? {} : { rule: Number(rule) + 1 }) },
    issues: problems.map(({ path, message }) => ({
      code: 'invalid',
      diagnostics: `${path}: ${message}`,
      expression: [`AccessPolicy.${path}`],
    })),
    cause,
  });
}
