import { FhirError } from '../../fhir/error.js';
import { andMore } from '../../fhir/messages.js';
import type { PolicyGrant } from './policy-grant.js';

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

/** A fault at a path of the policy, until it is reported for the whole policy. */
class PolicyFault extends Error {
  constructor(
    readonly problem: PolicyProblem,
    cause?: unknown,
  ) {
    super(problem.message, { cause });
  }
}

/** @param path where in the policy: `resource[2].criteria` */
export function located(path: string, message: string, cause?: unknown): PolicyFault {
  return new PolicyFault({ path, message, severity: 'error' }, cause);
}

/** Locates a rejection at a path; other errors are bugs and pass unchanged. */
export function atPath(path: string, error: unknown): unknown {
  return error instanceof FhirError ? located(path, error.message, error) : error;
}

/** The message of a rejection. @throws any other error */
export function messageOf(error: unknown): string {
  if (error instanceof FhirError) return error.message;
  throw error;
}

/** The problem of a policy fault. @throws any other error */
export function problemOf(error: unknown): PolicyProblem {
  if (error instanceof PolicyFault) return error.problem;
  throw error;
}

/** Runs work on a grant; a policy fault becomes the error of that policy. */
export function reported<Result>(grant: PolicyGrant, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw policyError(grant.reference, [problemOf(error)], error);
  }
}
