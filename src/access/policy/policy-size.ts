import type { JsonObject } from '../../fhir/resource.js';
import type { PolicyProblem } from './policy-problem.js';

/** Maximum number of rules of one policy. A rule for each resource type is about 150. */
const MAX_RULES = 500;
/** Maximum length of one policy, in characters of JSON. */
const MAX_LENGTH = 100_000;
/** Maximum total size of a membership's policies with their parameters, in policies of maximum size. */
const MAX_LARGEST_POLICIES = 2;

/** What is too large in a policy to be compiled at each sign-in. */
export function sizeProblems(policy: JsonObject): PolicyProblem[] {
  const { rules, length } = sizeOf(policy);
  const problem = (path: string, message: string): PolicyProblem[] => [{ path, message, severity: 'error' }];
  if (rules > MAX_RULES) {
    return problem('resource', `at most ${MAX_RULES} rules are allowed, not ${rules}; name several policies instead`);
  }
  if (length > MAX_LENGTH) {
    return problem('resource', `at most ${MAX_LENGTH} characters are allowed, not ${length}; shorten the criteria`);
  }
  return [];
}

/** The limit that the policies of a membership exceed together; undefined if they exceed none. */
export function membershipSizeProblem(policies: readonly PolicySize[]): PolicyProblem | undefined {
  let [rules, length] = [0, 0];
  for (const size of policies) {
    rules += size.rules;
    length += size.length;
  }
  const [maxRules, maxLength] = [MAX_LARGEST_POLICIES * MAX_RULES, MAX_LARGEST_POLICIES * MAX_LENGTH];
  if (rules <= maxRules && length <= maxLength) return undefined;
  const message = `all policies together may have ${maxRules} rules and ${maxLength} characters, not ${rules} and ${length}; name fewer`;
  return { path: 'access', message, severity: 'error' };
}

/** How large an AccessPolicy is. */
export interface PolicySize {
  readonly rules: number;
  /** Characters as JSON. */
  readonly length: number;
}

export function sizeOf(policy: JsonObject): PolicySize {
  const rules = policy['resource'];
  return { rules: Array.isArray(rules) ? rules.length : 0, length: JSON.stringify(policy).length };
}
