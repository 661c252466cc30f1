import { type DateInterval, isFinerThanMillisecond, parseDate } from '../fhir/date.js';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { FORMAT_PARAMETERS, parseWhole } from '../search/parse/parse-search.js';
import type { TypeHistoryPage, VersionsPage } from './repository.js';

/**
 * `_count`, `_offset`, `_cursor`, `_since` and `_at` of the history of a resource.
 *
 * @throws FhirError `invalid` - not whole numbers, given twice, or an unknown parameter
 * @throws FhirError `unsupported` - another parameter of FHIR's histories
 */
export function historyParameters(parameters: URLSearchParams): VersionsPage {
  const values = valuesOf(parameters, ['_count', '_offset', '_cursor', '_since', '_at']);
  return {
    count: wholeNumber(values, '_count'),
    offset: wholeNumber(values, '_offset'),
    cursor: values.get('_cursor'),
    since: values.get('_since'),
    at: values.get('_at'),
  };
}

/**
 * `_count`, `_since` and `_cursor` of the history of a type, or of all types.
 *
 * @throws FhirError `invalid`, `unsupported` - as for {@link historyParameters}
 */
export function typeHistoryParameters(parameters: URLSearchParams): TypeHistoryPage {
  if (parameters.has('_offset')) {
    throw new FhirError('invalid', 'The history of several resources is paged by the links of its pages');
  }
  if (parameters.has('_at')) {
    throw new FhirError('unsupported', '"_at" is supported for the history of one resource only; use "_since"');
  }
  const values = valuesOf(parameters, ['_count', '_since', '_cursor']);
  return { count: wholeNumber(values, '_count'), since: values.get('_since'), cursor: values.get('_cursor') };
}

function valuesOf(parameters: URLSearchParams, names: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (FORMAT_PARAMETERS.has(name)) continue;
    if (name === '_list' || name === '_sort') {
      throw new FhirError('unsupported', `Parameter "${name}" is not supported here`);
    }
    if (!names.includes(name)) throw new FhirError('invalid', `Unknown parameter ${quote(name)}`);
    if (value === '') continue;
    if (values.has(name)) throw new FhirError('invalid', `"${name}" may be given once, not several times`);
    values.set(name, value);
  }
  return values;
}

function wholeNumber(values: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = values.get(name);
  return value === undefined ? undefined : parseWhole(name, value);
}

/**
 * The first instant of a version that a `_since` can name. ISO 8601, UTC.
 *
 * @throws FhirError `invalid` - neither an instant nor a date
 */
export function readSince(text: string): string {
  const low = parseDate(text)?.low;
  // Versions are of whole milliseconds.
  if (low !== undefined) return new Date(isFinerThanMillisecond(text) ? low + 1 : low).toISOString();
  throw new FhirError('invalid', `"_since" takes an instant, not ${quote(text)}`);
}

/**
 * The interval that an `_at` names: the whole day of a date.
 *
 * @throws FhirError `invalid` - neither an instant nor a date
 */
export function readAt(text: string): DateInterval {
  const interval = parseDate(text);
  if (interval !== undefined) return interval;
  throw new FhirError('invalid', `"_at" takes an instant or a date, not ${quote(text)}`);
}
