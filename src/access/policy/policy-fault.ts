import { FhirError } from '../../fhir/error.js';
import { policyError, type PolicyProblem } from './policy-problem.js';
import type { PolicyGrant } from './policy-grant.js';

/** A fault at a place of the policy, until it is reported for the policy as a whole. */
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

/** A refusal as a fault at the place; any other error is this library's own and passes as it is. */
export function atPath(path: string, error: unknown): unknown {
  return error instanceof FhirError ? located(path, error.message, error) : error;
}

/** Why something was refused. @throws any error that is no refusal */
export function messageOf(error: unknown): string {
  if (error instanceof FhirError) return error.message;
  throw error;
}

/** The problem that a fault reports. @throws any error that is no fault of the policy */
export function problemOf(error: unknown): PolicyProblem {
  if (error instanceof PolicyFault) return error.problem;
  throw error;
}

/** The result of work on a grant; a fault of the policy as the error of that policy. */
export function reported<Result>(grant: PolicyGrant, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw policyError(grant.reference, [problemOf(error)], error);
  }
}
