import { FhirError } from '../../../fhir/error.js';
import { orList, quote } from '../../../fhir/messages.js';
import type { SearchParameterDefinition, SearchParameterType } from '../../../fhir/model/definition-types.js';
import { not, type Criteria, or } from '../../criteria/criteria.js';
import type { UriTest, ValueTest, TokenTest } from '../../criteria/value-test.js';
import { type ValueTraits, valueTraits } from '../../index/value-traits.js';
import { stringCriteria, unescape } from '../string-criteria.js';
import { MAX_VALUE_LENGTH, tooCostly, type ParseContext } from '../parse-context.js';
import { missingCriteria, parseBoolean } from '../parse-parameter.js';
import {
  parseCompositeValue,
  parseDateValue,
  parseNumberValue,
  parseQuantityValue,
  parseReferenceValue,
} from '../parse-value.js';
import { hierarchyTest, parseTokenValue, valueSetTest } from '../parse-token-value.js';

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
export function comparisonCriteria(
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
