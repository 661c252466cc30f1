import {
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  specifiedRules,
  VariablesInAllowedPositionRule,
  type ValidationRule,
} from '../graphql-js.js';
import { ReadByIdRule, ReferenceParameterRule, ReservedNameRule, ResourceTypeRule } from './fhir-rules.js';
import { FragmentSpreadsRule } from './fragment-spreads-rule.js';
import { LenientVariablesRule } from './variables-rule.js';

const REPLACED: ReadonlyMap<ValidationRule, ValidationRule> = new Map<ValidationRule, ValidationRule>([
  [VariablesInAllowedPositionRule, LenientVariablesRule],
  [PossibleFragmentSpreadsRule, FragmentSpreadsRule],
]);

/**
 * GraphQL's own rules, two of them in FHIR's more liberal reading, and the rules FHIR adds. One is left to
 * `findMergeErrors`, which needs a document that passes these.
 */
export const VALIDATION_RULES: readonly ValidationRule[] = [
  ...specifiedRules
    .filter((rule) => rule !== OverlappingFieldsCanBeMergedRule)
    .map((rule) => REPLACED.get(rule) ?? rule),
  ReadByIdRule,
  ReferenceParameterRule,
  ResourceTypeRule,
  ReservedNameRule,
];
