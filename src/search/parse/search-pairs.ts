import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { isJsonObject } from '../../fhir/resource.js';

/** A parameter of a search as it was stated, with modifiers and chains in its name. */
export type SearchPair = readonly [name: string, value: string];

/**
 * The parameters of a search stated by hosts: a query string, URLSearchParams, or an object of texts and lists of texts.
 *
 * @param hint ends the message about a value that is no text, for parameters that have a form of their own
 * @throws FhirError `invalid` - anything else
 */
export function searchPairs(query: unknown, hint: (name: string) => string = () => ''): SearchPair[] {
  if (typeof query === 'string' || query instanceof URLSearchParams) return [...new URLSearchParams(query)];
  // A Map has no properties: it would state no parameter at all, and find everything.
  if (!isJsonObject(query) || Symbol.iterator in query) {
    throw new FhirError('invalid', `A search is a query string, parameters or an object of these${hint('')}`);
  }
  return Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : value === undefined ? [] : [value]).map((one: unknown): SearchPair => {
      if (typeof one === 'string') return [name, one];
      throw new FhirError(
        'invalid',
        `The value of search parameter "${name.slice(0, 40)}" must be a string${hint(name)}`,
      );
    }),
  );
}

/**
 * The names of parameters without modifiers and chains, each once, for audit records. A name that is no parameter of the
 * type is left out: somebody who types a value in the place of a name would leave it in the audit trail.
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
  '_filter',
  '_has',
  '_offset',
  '_sort',
  '_summary',
  '_total',
]);
