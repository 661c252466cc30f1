import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { isJsonObject } from '../../fhir/resource.js';
import { MAX_COMPARISONS, tooCostly } from './parse-context.js';

/** A search parameter as given, with modifiers and chains in its name. */
export type SearchPair = readonly [name: string, value: string];

/**
 * Reads the parameters of a host's search: a query string, URLSearchParams, or an object of strings and lists of
 * strings.
 *
 * @param hint completes the message about a non-string value, for parameters with their own form
 * @throws FhirError `invalid` - anything else
 * @throws FhirError `too-costly` - as {@link parseQueryString}
 */
export function searchPairs(query: unknown, hint: (name: string) => string = () => ''): SearchPair[] {
  if (typeof query === 'string') return [...parseQueryString(query)];
  if (query instanceof URLSearchParams) {
    assertFewParameters(query.size);
    return [...query];
  }
  // A Map has no properties: it would be read as a search without parameters and match everything.
  if (!isJsonObject(query) || Symbol.iterator in query) {
    throw new FhirError('invalid', `A search is a query string, parameters or an object of these${hint('')}`);
  }
  return Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) && value.length > 0 ? value : value === undefined ? [] : [value]).map((one): SearchPair => {
      if (typeof one === 'string') return [name, one];
      // A list without values would leave the parameter out, and find everything.
      throw new FhirError(
        'invalid',
        `The value of search parameter "${name.slice(0, 40)}" must be a string or a list of strings${hint(name)}`,
      );
    }),
  );
}

/**
 * Reads a query string whose parameters are counted first: reading them is one turn of the event loop.
 *
 * @throws FhirError `too-costly` - more parameters than a search may have comparisons
 */
export function parseQueryString(text: string): URLSearchParams {
  assertFewInQuery(text);
  return new URLSearchParams(text);
}

/** @throws FhirError `too-costly` - as {@link parseQueryString} */
export function assertFewInQuery(text: string): void {
  let count = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) assertFewParameters(++count);
}

function assertFewParameters(count: number): void {
  if (count > MAX_COMPARISONS) throw tooCostly('parameters in one search', MAX_COMPARISONS, count, 'ask in parts');
}

/**
 * The distinct parameter names without modifiers and chains, for audit records. Unknown names are omitted, because a
 * value typed in place of a name must not enter the audit trail.
 */
export function parameterNames(
  model: FhirModel,
  type: string,
  names: readonly string[],
  isOwn: (name: string) => boolean = () => false,
): string[] {
  const plain = names.map((name) => name.split(/[:.]/, 1)[0]!);
  const isKnown = (name: string): boolean =>
    isOwn(name) || RESULT_PARAMETERS.has(name) || model.searchParameter(type, name) !== undefined;
  return [...new Set(plain)].filter(isKnown);
}

const RESULT_PARAMETERS: ReadonlySet<string> = new Set([
  '_count',
  '_elements',
  '_fields',
  '_filter',
  '_has',
  '_include',
  '_offset',
  '_revinclude',
  '_sort',
  '_summary',
  '_total',
]);
