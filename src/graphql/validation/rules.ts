import type { Dialect } from '../dialect.js';
import {
  FieldsOnCorrectTypeRule,
  KnownArgumentNamesRule,
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  ProvidedRequiredArgumentsRule,
  ScalarLeafsRule,
  specifiedRules,
  ValuesOfCorrectTypeRule,
  VariablesInAllowedPositionRule,
  type ValidationRule,
} from '../graphql-js-validation.js';
import { ReadByIdRule, ReferenceParameterRule, ReservedVariableRule, ResourceTypeRule } from './fhir-rules.js';
import { FragmentSpreadsRule, ChoiceLeafsRule, DeletionLeafsRule, ShapingDirectivesRule } from './selection-rules.js';
import { InputValuesRule } from './input-values-rule.js';
import { KnownArgumentsRule, RequiredArgumentsRule } from './argument-rules.js';
import { KnownFieldsRule } from './known-fields-rule.js';
import { LenientVariablesRule, NullableVariablesRule } from './variables-rule.js';

const REPLACED: ReadonlyMap<ValidationRule, ValidationRule> = new Map<ValidationRule, ValidationRule>([
  [VariablesInAllowedPositionRule, LenientVariablesRule],
  [PossibleFragmentSpreadsRule, FragmentSpreadsRule],
  [ScalarLeafsRule, DeletionLeafsRule],
  [ValuesOfCorrectTypeRule, InputValuesRule],
  [FieldsOnCorrectTypeRule, KnownFieldsRule],
  [KnownArgumentNamesRule, KnownArgumentsRule],
  [ProvidedRequiredArgumentsRule, RequiredArgumentsRule],
]);

const HL7: ReadonlyMap<ValidationRule, ValidationRule> = new Map<ValidationRule, ValidationRule>([
  [DeletionLeafsRule, ChoiceLeafsRule],
  [LenientVariablesRule, NullableVariablesRule],
]);

const STANDARD: readonly ValidationRule[] = [
  ...specifiedRules
    .filter((rule) => rule !== OverlappingFieldsCanBeMergedRule)
    .map((rule) => REPLACED.get(rule) ?? rule),
  ReadByIdRule,
  ReferenceParameterRule,
  ResourceTypeRule,
  ReservedVariableRule,
  ShapingDirectivesRule,
];

/**
 * GraphQL's rules, seven of them adapted to FHIR, and FHIR's own rules. Field merging is left to `findMergeErrors`,
 * which needs a document that passes these. In dialect `hl7` the data decides whether a choice by its base name is a
 * leaf.
 */
export const VALIDATION_RULES: { readonly [Name in Dialect]: readonly ValidationRule[] } = {
  standard: STANDARD,
  hl7: STANDARD.map((rule) => HL7.get(rule) ?? rule),
};
