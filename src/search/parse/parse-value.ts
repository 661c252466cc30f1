import type { SearchParameterDefinition, SearchParameterType } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import type { CompositeCriteria } from '../criteria/criteria.js';
import type { DateTest, NumberTest, Prefix, QuantityTest, ValueTest } from '../criteria/value-test.js';
import { isFinerThanMillisecond } from '../../fhir/date.js';
import { dateInterval } from './date-interval.js';
import { splitEscaped, unescape } from './escapes.js';
import { numberInterval } from './number-interval.js';
import { componentTraits, type ValueTraits } from '../index/value-traits.js';
import type { ParseContext } from './parse-context.js';
import { parseReferenceValue } from './parse-reference-value.js';
import { parseTokenValue, systemNamed } from './parse-token-value.js';
import { foldSearched } from './string-criteria.js';
import { quote } from '../../fhir/messages/quote.js';

/** The facts about a parameter needed to parse its values. */
export type ValueParameter = Pick<SearchParameterDefinition, 'code' | 'type' | 'targets'> &
  Partial<Pick<ValueTraits, 'strings' | 'canonicals'>>;

/**
 * Parses one value of a search parameter, still escaped, into a test on index values.
 *
 * See https://hl7.org/fhir/R4/search.html#ptypes. For composite values use {@link parseCompositeValue}.
 *
 * @throws FhirError `invalid` - not a value of the parameter's type.
 * @throws FhirError `unsupported` - the parameter is of type `special`.
 */
export function parseValue(parameter: ValueParameter, text: string, context: ParseContext): ValueTest {
  if (text === '')
    throw new FhirError('invalid', `Search parameter "${parameter.code}" needs a value, got an empty one`);
  switch (parameter.type) {
    case 'string':
      return { kind: 'string', comparator: 'starts-with', text: foldSearched(parameter.code, unescape(text)) };
    case 'token':
      return parseTokenValue(parameter, text, context);
    case 'uri':
      return { kind: 'uri', comparator: parameter.canonicals === true ? 'canonical' : 'equals', value: unescape(text) };
    case 'reference':
      return parseReferenceValue(parameter, parameter.targets, unescape(text), context);
    case 'date': {
      const { prefix, rest } = splitPrefix(text);
      return parseDateValue(parameter.code, prefix, rest, context);
    }
    case 'number': {
      const { prefix, rest } = splitPrefix(text);
      return parseNumberValue(parameter.code, prefix, rest);
    }
    case 'quantity': {
      const { prefix, rest } = splitPrefix(text);
      return parseQuantityValue(parameter.code, prefix, rest, context);
    }
    case 'composite':
    case 'special':
      throw notSearchable(parameter.code, parameter.type);
  }
}

/** The date after the prefix: `2020`, `2020-05-01T10:00Z`. */
export function parseDateValue(parameter: string, prefix: Prefix, text: string, context: ParseContext): DateTest {
  const interval = dateInterval(prefix, text, context.now);
  if (interval !== undefined && isFinerThanMillisecond(text)) {
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter}" compares dates to the millisecond, and ${quote(text)} is finer`,
    );
  }
  if (interval === undefined) {
    const example = '2020, 2020-05-01 or 2020-05-01T10:00:00Z';
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter}" takes a date such as ${example}, not ${quote(text)}`,
    );
  }
  return { kind: 'date', prefix, low: interval.low, high: interval.high };
}

/** The number after the prefix: `100`, `5.40`, `1e2`. */
export function parseNumberValue(parameter: string, prefix: Prefix, text: string): NumberTest {
  const interval = numberInterval(prefix, text);
  if (interval === undefined) {
    throw new FhirError('invalid', `Search parameter "${parameter}" takes a number such as 5.4, not ${quote(text)}`);
  }
  return { kind: 'number', prefix, low: interval.low, high: interval.high };
}

/** The quantity after the prefix, still escaped: `5.4`, `5.4|http://unitsofmeasure.org|mg`, `5.4||mg`. */
export function parseQuantityValue(
  parameter: string,
  prefix: Prefix,
  text: string,
  context: ParseContext,
): QuantityTest {
  const parts = splitEscaped(text, '|').map(unescape);
  const [number, system = '', code = ''] = parts as [string, string?, string?];
  const interval = parts.length === 1 || parts.length === 3 ? numberInterval(prefix, number) : undefined;
  if (interval === undefined) {
    const forms = '5.4, 5.4|http://unitsofmeasure.org|mg or 5.4||mg';
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter}" takes a quantity such as ${forms}, not ${quote(text)}`,
    );
  }
  return {
    kind: 'quantity',
    prefix,
    low: interval.low,
    high: interval.high,
    ...(system === '' ? {} : { system: systemNamed(system, context) }),
    ...(code === '' ? {} : { code }),
  };
}

/**
 * Parses one value of a composite parameter, still escaped: one value per component, joined by `$`.
 *
 * See https://hl7.org/fhir/R4/search.html#composite.
 *
 * @param type the resource type searched.
 */
export function parseCompositeValue(
  type: string,
  parameter: SearchParameterDefinition,
  text: string,
  context: ParseContext,
): CompositeCriteria {
  const components = parameter.components ?? [];
  const parts = splitEscaped(text, '$');
  if (components.length === 0) throw notSearchable(parameter.code, 'composite');
  if (parts.length !== components.length) {
    const form = components.map(({ code }) => code).join('$');
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter.code}" takes ${components.length} values joined as ${form}, not ${quote(text)}`,
    );
  }
  const tests = components.map((component, index) => {
    const targets = context.model.searchParameter(type, component.code)?.targets;
    const code = `${parameter.code} (${component.code})`;
    const traits = componentTraits(context.model, type, parameter, component);
    const part = { code, type: component.type, ...traits, ...(targets && { targets }) };
    return parseValue(part, parts[index]!, context);
  });
  return { kind: 'composite', parameter: parameter.code, tests };
}

/** Creates the error for a parameter of a type without values. */
function notSearchable(code: string, type: SearchParameterType): FhirError {
  return new FhirError('unsupported', `Search parameter "${code}" of type ${type} is not supported`);
}

function splitPrefix(text: string): { readonly prefix: Prefix; readonly rest: string } {
  const match = /^(eq|ne|gt|lt|ge|le|sa|eb|ap)/.exec(text);
  if (match === null) return { prefix: 'eq', rest: text };
  return { prefix: match[1] as Prefix, rest: text.slice(2) };
}
