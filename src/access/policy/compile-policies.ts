import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { inOneGo } from '../../platform/pace.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import type { AccessRule, AccessRules } from '../rule.js';
import { compileRule } from './compile-rule.js';
import { reported } from './policy-fault.js';
import { ruleElements, type PolicyGrant } from './policy-grant.js';
import { policyError } from './policy-problem.js';
import { shapeProblems } from './policy-shape.js';
import { sizeProblems } from './policy-size.js';
import { rulesByType } from './rules-by-type.js';
import { assertWildcard } from './wildcard-rules.js';

/** The rules of policies. */
export interface PolicyRules extends AccessRules {
  /** Compiles the rules of a type in steps, so that `rulesFor` has them ready. @throws FhirError `policy-invalid` - as `rulesFor` */
  compiling(type: string): Generator<void>;
}

/**
 * Compiles policies into rules per type, each at first use. Grants add up.
 *
 * No policy can grant the administrative types, even by name: anybody who could write memberships or policies could
 * grant itself any right. Administrators have separate rules for them.
 *
 * See https://www.medplum.com/docs/access/access-policies for the resource's shape.
 *
 * A policy with any unknown part grants nothing: a misspelled element might have restricted any of its rules.
 *
 * @throws FhirError `policy-invalid` - unknown elements or values of another type; from `rulesFor` also criteria,
 * fields and write constraints that cannot be understood
 */
export function compilePolicies(model: FhirModel, grants: readonly PolicyGrant[]): PolicyRules {
  for (const grant of grants) {
    const size = sizeProblems(grant.policy);
    const problems = size.length > 0 ? size : shapeProblems(model, grant.policy);
    if (problems.length > 0) throw policyError(grant.reference, problems);
    ruleElements(grant.policy).forEach((rule, index) =>
      reported(grant, () => assertWildcard(model, grant, rule, index)),
    );
  }
  const compiled = new Map<string, readonly AccessRule[]>();
  return {
    ...rulesByType(model, (type) => inOneGo(compilingRules(model, grants, type)), compiled),
    *compiling(type) {
      compiled.set(type, yield* compilingRules(model, grants, type));
    },
  };
}

function* compilingRules(
  model: FhirModel,
  grants: readonly PolicyGrant[],
  type: string,
): Generator<void, readonly AccessRule[]> {
  const rules: AccessRule[] = [];
  if (!model.isResourceType(type) || !coveredByWildcard(type)) return rules;
  for (const grant of grants) {
    for (const [index, rule] of ruleElements(grant.policy).entries()) {
      const named = rule['resourceType'];
      if (named !== type && named !== '*') continue;
      yield;
      rules.push(reported(grant, () => compileRule(model, grant, rule, index, type)));
    }
  }
  return rules;
}
