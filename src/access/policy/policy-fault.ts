import { FhirError } from '../../fhir/error.js';
import { policyError, type PolicyProblem } from './policy-problem.js';
import type { PolicyGrant } from './policy-grant.js';

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
