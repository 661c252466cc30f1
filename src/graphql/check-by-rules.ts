import { didYouMean, isSameName, orList } from '../fhir/messages.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { Pace } from '../platform/pace.js';
import type { Dialect } from './dialect.js';
import {
  FieldsOnCorrectTypeRule,
  KnownArgumentNamesOnDirectivesRule,
  KnownArgumentNamesRule,
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  ProvidedRequiredArgumentsRule,
  ScalarLeafsRule,
  specifiedRules,
  validate,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  VariablesInAllowedPositionRule,
} from './graphql-js-validation.js';
import { type DocumentNode, GraphQLError, Kind } from './graphql-js.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { DocumentErrors } from './prepared-document.js';
import { schemaFor } from './schema/schema.js';
import { familiarArgument } from './validation/familiar-names.js';
import {
  ChoiceLeafsRule,
  DeletionLeafsRule,
  FragmentSpreadsRule,
  InputValuesRule,
  LenientVariablesRule,
  NullableVariablesRule,
  offeredReferences,
  ReadByIdRule,
  ReferenceParameterRule,
  ReservedVariableRule,
  ResourceTypeRule,
  ShapingDirectivesRule,
} from './validation/fhir-rules.js';
import { findMergeErrors } from './validation/fields-merge.js';
import { KnownFieldsRule } from './validation/known-fields-rule.js';
import { withTypedReferences } from './validation/typed-references.js';

/** Maximum number of errors in one answer. */
const MAX_ERRORS = 20;

/**
 * Checks a document by the rules of GraphQL and FHIR, and then whether its fields merge. Long checks take a turn of the
 * event loop each; for a long document, each part of the rules does.
 *
 * PERF (start): loaded by `import()` with the first document that is not plain.
 *
 * @param tokens the length of the document
 * @returns the document with the types of its references
 * @throws DocumentErrors - it does not fit the schema
 * @throws LimitError `fields`
 */
export async function checkByRules(
  model: FhirModel,
  written: DocumentNode,
  dialect: Dialect,
  root: string,
  tokens = 0,
): Promise<DocumentNode> {
  const pace = new Pace();
  const schema = schemaFor(model, dialect, root);
  const document = withTypedReferences(written, schema);
  const errors: GraphQLError[] = [];
  for (const rules of inParts(VALIDATION_RULES[dialect], tokens)) {
    errors.push(...validate(schema, document, rules, { maxErrors: MAX_ERRORS }));
    if (pace.isSpent) await pace.next();
  }
  if (errors.length > 0) throw new DocumentErrors(errors.slice(0, MAX_ERRORS));
  // In dialect `hl7` equal keys are collated, so fields need not merge.
  const conflicts = dialect === 'hl7' ? [] : findMergeErrors(schema, document, fragmentsOf(document));
  if (conflicts.length > 0) throw new DocumentErrors(conflicts.slice(0, MAX_ERRORS));
  if (pace.isSpent) await pace.next();
  return document;
}

/** Each part walks the document once more. */
function inParts(rules: readonly ValidationRule[], tokens: number): readonly (readonly ValidationRule[])[] {
  if (tokens < LONG_DOCUMENT) return [rules];
  const size = Math.ceil(rules.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) => rules.slice(part * size, (part + 1) * size));
}

/** In tokens. All rules together take about 15 ms for a document of this length. */
const LONG_DOCUMENT = 3_000;
const PARTS = 4;

/**
 * graphql-js's rule "Argument Names", with suggestions specific to FHIR: `_count` for `first`, `_filter` for `where`,
 * `birthdate` for `birthDate`. See https://spec.graphql.org/October2021/#sec-Argument-Names.
 */
const KnownArgumentsRule: ValidationRule = (context: ValidationContext) => ({
  ...KnownArgumentNamesOnDirectivesRule(context),
  Argument(node) {
    const field = context.getFieldDef();
    const parent = context.getParentType();
    if (context.getArgument() || !field || !parent || context.getDirective()) return;
    const name = node.name.value;
    const { hideSuggestions = false } = context as { readonly hideSuggestions?: boolean };
    const hint = hideSuggestions
      ? ''
      : suggestion(
          name,
          field.args.map((one) => one.name),
        );
    const message = `Unknown argument "${name}" on field "${parent.name}.${field.name}".${hint}`;
    context.reportError(new GraphQLError(message, { nodes: node }));
  },
});

function suggestion(name: string, names: readonly string[]): string {
  if (names.some((one) => isSameName(one, name))) return didYouMean(name, names);
  const familiar = familiarArgument(name, (one) => names.includes(one));
  if (familiar.length > 0) return ` Did you mean ${orList(familiar.map((one) => `"${one}"`))}?`;
  const compared = COMPARED.exec(name)?.[1];
  if (compared !== undefined && names.includes(compared) && names.includes('_filter')) {
    return ` Did you mean "${compared}", or "_filter" for another comparison?`;
  }
  return didYouMean(name, names);
}

/** `name_contains`, `birthdate_gt`: comparisons as other GraphQL services name them. */
const COMPARED =
  /^(\w+?)_{1,2}(?:contains|exact|not|missing|in|above|below|starts?_?with|ends?_?with|like|eq|ne|gte?|lte?|ge|le)$/;

/**
 * graphql-js's rule "Required Arguments", which names the values that `_reference` can have where it is missing. See
 * https://spec.graphql.org/October2021/#sec-Required-Arguments.
 */
const RequiredArgumentsRule: ValidationRule = (context: ValidationContext) => {
  const report = (error: GraphQLError): void => {
    const [node] = error.nodes ?? [];
    const { hideSuggestions = false } = context as { readonly hideSuggestions?: boolean };
    // It is the only required argument of these fields.
    const offered = hideSuggestions || node?.kind !== Kind.FIELD ? [] : offeredReferences(context, node);
    if (offered.length === 0) return context.reportError(error);
    const message = `${error.message} It is one of: ${offered.join(', ')}.`;
    context.reportError(new GraphQLError(message, { nodes: error.nodes ?? null }));
  };
  const reporting = Object.create(context, { reportError: { value: report } }) as ValidationContext;
  return ProvidedRequiredArgumentsRule(reporting);
};

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
const VALIDATION_RULES: { readonly [Name in Dialect]: readonly ValidationRule[] } = {
  standard: STANDARD,
  hl7: STANDARD.map((rule) => HL7.get(rule) ?? rule),
};
