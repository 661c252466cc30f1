import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { quote } from '../../fhir/messages/quote.js';
import type { JsonObject } from '../../fhir/resource.js';
import { hasFieldNamed } from '../fields/field-paths.js';
import { compileRule, constraintsOf } from './compile-rule.js';
import { problemOf } from './policy-fault.js';
import { ruleElements, type PolicyGrant } from './policy-grant.js';
import type { PolicyProblem } from './policy-problem.js';
import { assertWildcard, isFieldOfSomeType } from './wildcard-rules.js';
import { assertWriteConstraint } from './write-constraint.js';

/**
 * What is wrong in the rules of a policy whose elements have the right shape: criteria that cannot be understood, fields
 * that the type does not have, write constraints that do not parse. At most one per rule.
 *
 * @param grant the policy with a value for each parameter that it uses
 */
export function ruleProblems(model: FhirModel, grant: PolicyGrant): PolicyProblem[] {
  return ruleElements(grant.policy).flatMap((rule, index) => {
    try {
      const type = String(rule['resourceType']);
      compileRule(model, grant, rule, index, type === '*' ? 'Patient' : type);
      assertWildcard(model, grant, rule, index);
      return [];
    } catch (error) {
      return [problemOf(error)];
    }
  });
}

/**
 * First-level elements in write constraints that the type of their rule does not have: they have no values, so
 * `%before.statuss.exists().not()` always holds.
 *
 * @param policy one without errors
 */
export function constraintWarnings(model: FhirModel, policy: JsonObject): PolicyProblem[] {
  return ruleElements(policy).flatMap((rule, index) => {
    const type = String(rule['resourceType']);
    return constraintsOf(model, rule, `resource[${index}]`).flatMap((expression, at) => {
      const path = `resource[${index}].writeConstraint[${at}].expression`;
      const unknown = [...assertWriteConstraint(model, expression)].filter((name) => !isElement(model, name, type));
      return unknown.map((name): PolicyProblem => {
        const hint = didYouMean(name, model.typeDefinition(type)?.elements.keys() ?? []);
        return { path, message: `${type} does not have the element ${quote(name)}.${hint}`, severity: 'warning' };
      });
    });
  });
}

/** A path may begin with the name of a type. A rule for all types may name what some of them lack. */
function isElement(model: FhirModel, name: string, type: string): boolean {
  if (name === 'resourceType' || model.typeDefinition(name) !== undefined) return true;
  return type === '*' ? isFieldOfSomeType(model, name) : hasFieldNamed(model, type, name);
}
