import { FhirError } from '../../../fhir/error.js';
import { orList, quote } from '../../../fhir/messages.js';
import type { SearchParameterDefinition, SearchParameterType } from '../../../fhir/model/definition-types.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { ALL, and, not, or, type Criteria } from '../../criteria/criteria.js';
import type { ValueTest, UriTest, TokenTest } from '../../criteria/value-test.js';
import { type ValueTraits, valueTraits } from '../../index/value-traits.js';
import { followReference, walkName } from '../chain.js';
import {
  createParseContext,
  type ParseContext,
  requireParameter,
  type SearchOptions,
  spend,
  MAX_VALUE_LENGTH,
  tooCostly,
} from '../parse-context.js';
import { missingCriteria, parseBoolean } from '../parse-parameter.js';
import { hierarchyTest, parseTokenValue, valueSetTest } from '../parse-token-value.js';
import {
  parseCompositeValue,
  parseDateValue,
  parseNumberValue,
  parseQuantityValue,
  parseReferenceValue,
} from '../parse-value.js';
import { stringCriteria, unescape } from '../string-criteria.js';
import { parseFilterSyntax, type FilterComparison, type FilterExpression, type FilterStep } from './filter-syntax.js';

/**
 * Parses a `_filter` expression into criteria for a resource type.
 *
 * It is evaluated left to right, with `and` and `or` of equal precedence. `eq` on strings compares the whole folded
 * text; `ne` requires some value that differs. Chains may name their target type (`subject:Patient.name`) and filter
 * along the way (`subject[gender eq male].name`). `options.modifiers` is ignored. See
 * https://hl7.org/fhir/R4/search_filter.html.
 *
 * @throws FhirError `invalid` - bad syntax, an unknown name or a malformed value; `details.offset` gives the location.
 * @throws FhirError `unsupported` - an operator that needs data that the index lacks, such as `gt` on strings.
 * @throws FhirError `too-costly` - too long, too deep, or too many comparisons.
 * @example
 * parseFilter('Patient', 'given eq "peter" and birthdate ge 2014-10-10');
 */
export function parseFilter(model: FhirModel, type: string, text: string, options?: SearchOptions): Criteria {
  return parseFilterIn(createParseContext(model, options), type, text);
}

/** {@link parseFilter} within a larger search. */
export function parseFilterIn(context: ParseContext, type: string, text: string): Criteria {
  return criteriaOf(type, parseFilterSyntax(text), { ...context, systemAliases: true });
}

function criteriaOf(type: string, expression: FilterExpression, context: ParseContext): Criteria {
  switch (expression.kind) {
    case 'and':
      return and(expression.of.map((one) => criteriaOf(type, one, context)));
    case 'or':
      return or(expression.of.map((one) => criteriaOf(type, one, context)));
    case 'not':
      return not(criteriaOf(type, expression.of, context));
    case 'comparison':
      return withOffset(expression.offset, () => comparisonFrom(type, expression, 0, context));
  }
}

/** The criteria of a comparison for the resource reached after `index` steps of its path. */
function comparisonFrom(type: string, comparison: FilterComparison, index: number, context: ParseContext): Criteria {
  const { path, operator, value } = comparison;
  const { name, filter } = path[index]!;
  const next = path[index + 1];
  if (next === undefined) {
    return walkName(type, name, context, (last, code, modifier) => {
      if (modifier !== undefined) {
        throw new FhirError('invalid', `"_filter" has operators in place of modifiers, so ${quote(name)} takes none`);
      }
      spend(context, 1);
      return comparisonCriteria(last, requireParameter(context.model, last, code), operator, value, context);
    });
  }
  return walkName(type, name, context, (last, code, target) => {
    const group = filter === undefined ? undefined : filterGroup(last, code);
    if (group !== undefined && filter !== undefined && index + 2 === path.length) {
      spend(context, group.parts.size);
      return groupCriteria(last, group, filter, { step: next, operator, value }, context);
    }
    return followReference(last, code, target, context, (reached) =>
      and([
        filter === undefined ? ALL : criteriaOf(reached, filter, context),
        comparisonFrom(reached, comparison, index + 1, context),
      ]),
    );
  });
}

/** Adds the offset to errors about names and values; errors of a nested filter keep their own. */
function withOffset(offset: number, make: () => Criteria): Criteria {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof FhirError) || error.details?.['offset'] !== undefined) throw error;
    throw error.with({ message: `${error.message} (at offset ${offset} of "_filter")`, details: { offset } });
  }
}

/** A repeating element that `_filter` can name, so that tests apply to one repetition. */
interface FilterGroup {
  /** The composite parameter whose components are the element's parts. */
  readonly composite: string;
  /** The name of a part within the filter → code of the component. */
  readonly parts: ReadonlyMap<string, string>;
}

const GROUPS: ReadonlyMap<string, FilterGroup> = new Map([
  [
    'Group.characteristic',
    {
      composite: 'characteristic-value',
      parts: new Map([
        ['code', 'characteristic'],
        ['value', 'value'],
      ]),
    },
  ],
  [
    'DocumentReference.relatesTo',
    {
      composite: 'relationship',
      parts: new Map([
        ['code', 'relation'],
        ['target', 'relatesto'],
      ]),
    },
  ],
]);

/**
 * The additional `_filter` parameter named by a step with a filter, if any.
 *
 * Of the specification's table only these have search parameters behind them in R4. See
 * https://hl7.org/fhir/R4/search_filter.html#params.
 */
function filterGroup(type: string, name: string): FilterGroup | undefined {
  return GROUPS.get(`${type}.${name}`);
}

/**
 * `characteristic[code eq gender].value eq mixed`: each part is compared once, all within the same repetition.
 *
 * @throws FhirError `invalid` - a part is missing, unknown or compared twice.
 * @throws FhirError `unsupported` - the filter in brackets is not a conjunction of comparisons.
 */
function groupCriteria(
  type: string,
  group: FilterGroup,
  filter: FilterExpression,
  last: { readonly step: FilterStep; readonly operator: string; readonly value: string },
  context: ParseContext,
): Criteria {
  const tests = new Map<string, ValueTest>();
  const comparisons = [
    ...comparisonsOf(filter).map(({ path, operator, value }) => ({ step: path[0]!, operator, value })),
    last,
  ];
  for (const { step, operator, value } of comparisons) {
    const code = group.parts.get(step.name);
    if (code === undefined || tests.has(code)) {
      const parts = orList([...group.parts.keys()]);
      throw new FhirError('invalid', `Each of ${parts} has to be compared once here, but not ${quote(step.name)}`);
    }
    const criteria = comparisonCriteria(type, requireParameter(context.model, type, code), operator, value, context);
    if (criteria.kind !== 'match' || criteria.test.kind === 'concept') {
      throw new FhirError('unsupported', `Operator ${quote(operator)} is not supported in the parts of a group`);
    }
    tests.set(code, criteria.test);
  }
  const components = context.model.searchParameter(type, group.composite)?.components ?? [];
  return {
    kind: 'composite',
    parameter: group.composite,
    tests: components.map(({ code }) => {
      const test = tests.get(code);
      if (test !== undefined) return test;
      throw new FhirError('invalid', `Each of ${orList([...group.parts.keys()])} has to be compared here`);
    }),
  };
}

function comparisonsOf(filter: FilterExpression): readonly FilterComparison[] {
  if (filter.kind === 'and') return filter.of.flatMap(comparisonsOf);
  if (filter.kind === 'comparison' && filter.path.length === 1) return [filter];
  throw new FhirError('unsupported', 'Only comparisons joined by "and" are supported in the brackets of a group');
}

/** The operators of `_filter`. See https://hl7.org/fhir/R4/search_filter.html#ops. */
// prettier-ignore
const OPERATORS = [
  'eq', 'ne', 'co', 'sw', 'ew', 'gt', 'lt', 'ge', 'le', 'ap', 'sa', 'eb', 'pr', 'po', 'ss', 'sb', 'in', 'ni', 're',
] as const;

type Operator = (typeof OPERATORS)[number];

const ORDERED = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap'] as const;
const TEXTUAL = ['eq', 'ne', 'co', 'sw', 'ew'] as const;

/**
 * The operators of each parameter type, in addition to `pr`; `eq` on references means `re`, since R4 gives it no other
 * meaning.
 */
const ALLOWED = {
  string: TEXTUAL,
  uri: TEXTUAL,
  token: ['eq', 'ne', 'in', 'ni', 'ss', 'sb'],
  reference: ['re', 'eq', 'ne'],
  date: [...ORDERED, 'po'],
  number: ORDERED,
  quantity: ORDERED,
  composite: ['eq'],
  special: [],
} as const satisfies Readonly<Record<SearchParameterType, readonly Operator[]>>;

/** Operators that R4 defines for a type but that are not supported, with the reason. */
const UNSUPPORTED: Readonly<Partial<Record<SearchParameterType, Readonly<Partial<Record<Operator, string>>>>>> = {
  string: before(['gt', 'lt', 'ge', 'le'], 'an order of strings in the index'),
  number: before(['co'], 'the precision of stored numbers in the index'),
  date: before(['co'], 'containment in the index; "po" finds what overlaps'),
};

/** Ids belong to no code system. */
const CONCEPT_OPERATORS: ReadonlySet<Operator> = new Set(['in', 'ni', 'ss', 'sb']);

const COMPARATORS = { eq: 'equals', ne: 'not-equals', co: 'contains', sw: 'starts-with', ew: 'ends-with' } as const;

/**
 * The criteria of one comparison.
 *
 * Strings and uris are taken literally, all other values are in the form of plain search parameters, escapes included.
 *
 * @throws FhirError `invalid` - an unknown operator, one that does not fit the type, a malformed value.
 * @throws FhirError `unsupported` - an operator that needs data that the index lacks.
 */
function comparisonCriteria(
  type: string,
  parameter: SearchParameterDefinition,
  operatorText: string,
  value: string,
  context: ParseContext,
): Criteria {
  const operator = requireOperator(parameter, operatorText);
  const { code } = parameter;
  if (value === '') throw new FhirError('invalid', `Search parameter "${code}" needs a value, got an empty one`);
  if (value.length > MAX_VALUE_LENGTH) {
    throw tooCostly(`characters in a value of "${code}"`, MAX_VALUE_LENGTH, value.length, 'shorten it');
  }
  if (operator === 'pr') return missingCriteria(parameter, !parseBoolean(code, value));
  if (code === '_id') {
    const id: Criteria = { kind: 'id', ids: [unescape(value)] };
    return operator === 'ne' ? not(id) : id;
  }
  if (parameter.type === 'composite') return parseCompositeValue(type, parameter, value, context);
  if (operator === 'ni') return not({ kind: 'match', parameter: code, test: valueSetTest(code, value) });
  const traits = valueTraits(context.model, type, parameter);
  if (parameter.type === 'token' && operator === 'ne')
    return otherToken(code, parseTokenValue({ code, ...traits }, value, context), traits);
  if (parameter.type === 'string')
    return stringCriteria(code, COMPARATORS[operator as keyof typeof COMPARATORS], value, traits, context);
  const test = testOf({ ...parameter, ...traits }, operator, value, context);
  if (code === '_lastUpdated' && test.kind === 'date') return { kind: 'last-updated', test };
  return { kind: 'match', parameter: code, test };
}

function requireOperator(parameter: SearchParameterDefinition, text: string): Operator {
  const operator = OPERATORS.find((one) => one === text);
  if (operator === undefined)
    throw new FhirError('invalid', `Unknown operator ${quote(text)}: use ${orList(OPERATORS)}`);
  const { code, type } = parameter;
  const allowed: readonly Operator[] = type === 'composite' ? ALLOWED.composite : [...ALLOWED[type], 'pr'];
  const isForeign = code === '_id' && CONCEPT_OPERATORS.has(operator);
  if (allowed.includes(operator) && !isForeign) return operator;
  const needs = UNSUPPORTED[type]?.[operator];
  if (needs !== undefined) {
    throw new FhirError(
      'unsupported',
      `Operator "${operator}" on "${code}" of type ${type} needs ${needs}; it is not supported`,
    );
  }
  throw new FhirError(
    'invalid',
    `Operator "${operator}" does not fit "${code}" of type ${type}, which takes ${orList(allowed)}`,
  );
}

/** Requires an operator that fits the parameter's type. */
function testOf(
  parameter: SearchParameterDefinition & ValueTraits,
  operator: Exclude<Operator, 'pr' | 'ni'>,
  value: string,
  context: ParseContext,
): ValueTest {
  const { code, targets } = parameter;
  switch (parameter.type) {
    case 'uri':
      return { kind: 'uri', comparator: uriComparator(operator as keyof typeof COMPARATORS, parameter), value };
    case 'token': {
      if (operator === 'in') return valueSetTest(code, value);
      if (operator === 'ss' || operator === 'sb')
        return hierarchyTest(code, operator === 'ss' ? 'above' : 'below', value, context);
      return parseTokenValue(parameter, value, context);
    }
    case 'reference':
      return {
        ...parseReferenceValue(parameter, targets, value, context),
        ...(operator === 'ne' ? { negated: true } : {}),
      };
    case 'date':
      return parseDateValue(code, operator as OrderedOperator | 'po', value, context);
    case 'number':
      return parseNumberValue(code, operator as OrderedOperator, value);
    case 'quantity':
      return parseQuantityValue(code, operator as OrderedOperator, value, context);
    case 'string':
    case 'composite':
    case 'special':
      throw new TypeError(`No operator tests values of type ${parameter.type}`);
  }
}

function uriComparator(operator: keyof typeof COMPARATORS, { canonicals }: ValueTraits): UriTest['comparator'] {
  if (canonicals && operator === 'eq') return 'canonical';
  if (canonicals && operator === 'ne') return 'not-canonical';
  return COMPARATORS[operator];
}

type OrderedOperator = (typeof ORDERED)[number];

function before(operators: readonly Operator[], reason: string): Readonly<Partial<Record<Operator, string>>> {
  return Object.fromEntries(operators.map((operator) => [operator, reason]));
}

/**
 * `ne` on a token: some value does not pass the test.
 *
 * A bound code has two index entries, one with the system of its binding and one without (see index-token.ts). No test of a
 * system passes both, so the entry that fails says nothing about the value. Its code does, and so does the system of another
 * binding of the same parameter.
 */
function otherToken(parameter: string, test: TokenTest, { boundTo }: Pick<ValueTraits, 'boundTo'>): Criteria {
  const match = (one: TokenTest): Criteria => ({ kind: 'match', parameter, test: one });
  const { kind, system, noSystem = false, code } = test;
  const isBound = boundTo.length > 0 && (noSystem || (system !== undefined && boundTo.includes(system)));
  if (!isBound) return match({ ...test, negated: true });
  const otherSystems = noSystem ? [] : boundTo.filter((one) => one !== system);
  return or([
    ...(code === undefined ? [] : [match({ kind, code, negated: true })]),
    ...otherSystems.map((one) => match({ kind, system: one, ...(code === undefined ? {} : { code }) })),
  ]);
}
