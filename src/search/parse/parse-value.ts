import { type DateInterval, isFinerThanMillisecond, parseDate } from '../../fhir/date.js';
import { FhirError } from '../../fhir/error.js';
import { didYouMean, orList, quote } from '../../fhir/messages.js';
import type { SearchParameterDefinition, SearchParameterType } from '../../fhir/model/definition-types.js';
import { parseReference, withoutVersion } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import type { CompositeCriteria } from '../criteria/criteria.js';
import type { DateTest, NumberTest, Prefix, QuantityTest, ReferenceTest, ValueTest } from '../criteria/value-test.js';
import { componentTraits, type ValueTraits } from '../index/value-traits.js';
import { foldSearched, splitEscaped, unescape } from './string-criteria.js';
import type { ParseContext } from './parse-context.js';
import { parseTokenValue, systemNamed } from './parse-token-value.js';

/** The facts about a parameter needed to parse its values. */
type ValueParameter = Pick<SearchParameterDefinition, 'code' | 'type' | 'targets'> &
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

/**
 * The searched interval of a date search; see `DateTest` in value-test.ts.
 *
 * `ap` widens the interval on both sides by 10 % of its distance from now; an interval that contains now is unchanged.
 * See https://hl7.org/fhir/R4/search.html#date.
 *
 * @param now milliseconds since 1970.
 * @returns undefined for text that is not a date.
 */
function dateInterval(prefix: Prefix, text: string, now: number): DateInterval | undefined {
  const interval = parseDate(text);
  if (interval === undefined || prefix !== 'ap') return interval;
  const gap = Math.max(0, interval.low - now, now - interval.high);
  const margin = Math.round(gap / 10);
  return { low: interval.low - margin, high: interval.high + margin };
}

/** Two bounds. Whether they are inclusive depends on the prefix; see `NumberTest`. */
interface NumberInterval {
  readonly low: number;
  readonly high: number;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
/** In characters; far more digits than a double can represent. */
const MAX_NUMBER_LENGTH = 100;

/**
 * The searched bounds of a number search; see `NumberTest` in value-test.ts.
 *
 * The precision is half a unit of the last digit: `100` is 99.5 up to 100.5, `5.40` is 5.395 up to 5.405, `1.00e2` is
 * 99.5 up to 100.5. The specification's example `1e2` is 95 up to 105, so a single significant digit with an exponent
 * counts as two: `1e2` equals `1.0e2`. See https://hl7.org/fhir/R4/search.html#number.
 *
 * All bounds are computed in decimal, so that 5.395 is the same double as JSON's `5.395`.
 *
 * @returns undefined unless the text is a finite decimal number.
 */
export function numberInterval(prefix: Prefix, text: string): NumberInterval | undefined {
  const match = text.length > MAX_NUMBER_LENGTH ? null : DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, sign, whole, fraction = '', exponent] = match as unknown as [string, string, string, string?, string?];
  const digits = BigInt(`${sign}${whole}${fraction}`);
  /** Decimal exponent of the last digit. */
  const power = Number(exponent ?? 0) - fraction.length;
  const exact = decimal(digits, power);
  if (!Number.isFinite(exact)) return undefined;
  switch (prefix) {
    case 'eq':
    case 'ne': {
      const isSingle = exponent !== undefined && hasOneDigit(whole + fraction);
      const finest = isSingle ? power - 2 : power - 1;
      const tens = isSingle ? 100n : 10n;
      return { low: decimal(digits * tens - 5n, finest), high: decimal(digits * tens + 5n, finest) };
    }
    case 'ap': {
      const a = decimal(digits * 9n, power - 1);
      const b = decimal(digits * 11n, power - 1);
      return a < b ? { low: a, high: b } : { low: b, high: a };
    }
    default:
      return { low: exact, high: exact };
  }
}

/** Leading zeros are not significant; in a zero all digits but the first are. */
function hasOneDigit(mantissa: string): boolean {
  const significant = mantissa.replace(/^0+/, '');
  return significant === '' ? mantissa.length === 1 : significant.length === 1;
}

/** The double nearest to `digits × 10^power`. */
function decimal(digits: bigint, power: number): number {
  // Avoids negative zero, a second representation of zero.
  return Number(`${digits}e${power}`) + 0;
}

/**
 * Parses one value of a reference parameter.
 *
 * | text | matches |
 * |---|---|
 * | `123` | that id in any type the parameter can point to |
 * | `Patient/123`, `Patient/123/_history/2`, the same below the own base | that resource; the version is ignored |
 * | `http://…`, `http://…\|1.0`, `urn:…` | that URL; a canonical without version matches every version; the version of another URL is ignored |
 *
 * See https://hl7.org/fhir/R4/search.html#reference.
 *
 * @param targets the types that a bare id may belong to; undefined: any.
 * @throws FhirError `invalid` - the text has none of these forms.
 */
export function parseReferenceValue(
  parameter: Pick<SearchParameterDefinition, 'code'> & Partial<Pick<ValueTraits, 'canonicals'>>,
  targets: readonly string[] | undefined,
  text: string,
  context: ParseContext,
): ReferenceTest {
  if (isResourceId(text)) {
    return targets === undefined ? { kind: 'reference', id: text } : { kind: 'reference', types: targets, id: text };
  }
  // A canonical is compared literally, whatever its base.
  const reference = parseReference(text, parameter.canonicals === true ? undefined : context.model.baseUrl);
  switch (reference?.kind) {
    case 'local':
      if (!context.model.isResourceType(reference.type)) {
        throw new FhirError(
          'invalid',
          `Unknown resource type ${quote(reference.type)} in a value of search parameter "${parameter.code}".${didYouMean(reference.type, context.model.resourceTypes)}`,
        );
      }
      return { kind: 'reference', types: [reference.type], id: reference.id };
    case 'foreign':
      return { kind: 'reference', url: withoutVersion(reference.url) };
    case 'urn':
      return { kind: 'reference', url: reference.urn };
    default: {
      const reference = targets === undefined ? 'a reference such as Patient/123' : `a reference to ${orList(targets)}`;
      const forms = [
        'an id',
        `${reference}${targets === undefined ? '' : ` such as ${targets[0]}/123`}`,
        'an absolute URL',
      ];
      throw new FhirError('invalid', `Search parameter "${parameter.code}" takes ${orList(forms)}, not ${quote(text)}`);
    }
  }
}
