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
 * @throws FhirError `invalid` - anything else, or percent-encoding that is not UTF-8
 * @throws FhirError `too-costly` - as {@link parseQueryString}
 */
export function searchPairs(query: unknown, hint: (name: string) => string = () => ''): SearchPair[] {
  if (typeof query === 'string') return [...parseQueryString(query)];
  if (query instanceof URLSearchParams) {
    assertFewParameters(query.size);
    const pairs = [...query];
    // URLSearchParams has replaced what was not UTF-8, and folding would drop the replacement.
    if (pairs.some((pair) => pair.some((text) => text.includes('\uFFFD')))) throw malformed();
    return pairs;
  }
  // A Map has no properties: it would be read as a search without parameters and match everything.
  if (!isJsonObject(query) || Symbol.iterator in query) {
    throw new FhirError('invalid', `A search is a query string, parameters or an object of these${hint('')}`);
  }
  return Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) && value.length > 0 ? value : value === undefined ? [] : [value]).map((one): SearchPair => {
      if (typeof one === 'string') {
        if (!one.isWellFormed()) throw malformed();
        return [name, one];
      }
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
 * @throws FhirError `invalid`, `too-costly` - as {@link assertReadableQuery}
 */
export function parseQueryString(text: string): URLSearchParams {
  assertReadableQuery(text);
  return new URLSearchParams(text);
}

/**
 * Asserts that a query string can be read as it was meant. URLSearchParams would read the Latin-1 of `%D6zil` as
 * U+FFFD, which folding drops: another name. See https://url.spec.whatwg.org/#urlencoded-parsing.
 *
 * @throws FhirError `invalid` - percent-encoding that is not UTF-8, a bare "%", or half of a surrogate pair
 * @throws FhirError `too-costly` - more parameters than a search may have comparisons
 */
export function assertReadableQuery(text: string): void {
  let count = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) assertFewParameters(++count);
  if (!text.isWellFormed()) throw malformed();
  if (!text.includes('%')) return;
  try {
    decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}

function malformed(): FhirError {
  return new FhirError('invalid', 'The query must be percent-encoded UTF-8; a literal "%" is written "%25"');
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
    isOwn(name) || isResultParameter(name) || model.searchParameter(type, name) !== undefined;
  return [...new Set(plain)].filter(isKnown);
}

/** Parameters of the result, and of criteria with their own form. */
export function isResultParameter(name: string): boolean {
  return RESULT_PARAMETERS.has(name.split(':', 1)[0]!);
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
