import { searchParameter } from '../fhir/definitions.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject } from '../fhir/resource.js';
import type { Criteria } from '../search/criteria/criteria.js';
import { parseSearch, type SearchInput, type SearchRequest } from '../search/parse/parse-search.js';

declare const made: unique symbol;

/** A search by criteria, made by {@link createSearch}. */
export interface CriteriaSearch extends SearchRequest {
  readonly [made]: true;
}

/** What a search can be stated by: text or parameters as in a URL, or criteria by {@link createSearch}. */
export type RepositorySearch = SearchInput | CriteriaSearch;

/** Every search that was made by {@link createSearch}; nothing that a client sends is among them. */
const MADE = new WeakSet<object>();

/**
 * Makes a search of criteria instead of text.
 *
 * Plain objects always mean search parameters: what a web framework parses from `?kind=all` or `?criteria[kind]=all`
 * would otherwise pass for criteria and find everything, whatever else the query says. Never build criteria from what a
 * client sent without looking at it.
 *
 * @throws FhirError `invalid` - no criteria
 *
 * @example
 * const criteria: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };
 * await repository.search('Patient', createSearch({ criteria, count: 50 }));
 */
export function createSearch(request: SearchRequest): CriteriaSearch {
  if (!isJsonObject(request) || !isJsonObject(request.criteria) || !CRITERIA_KINDS.has(request.criteria.kind)) {
    throw new FhirError('invalid', 'createSearch takes an object with criteria');
  }
  const search = Object.freeze({ ...request }) as SearchRequest as CriteriaSearch;
  MADE.add(search);
  return search;
}

/** A search that was read; `pairs` are its parameters where it was stated by some. */
export interface ReadSearch {
  readonly request: SearchRequest;
  readonly pairs: readonly (readonly [name: string, value: string])[] | undefined;
}

/** @throws FhirError `invalid`, `unsupported`, `too-costly` */
export function readSearch(type: string, query: RepositorySearch, baseUrl: string | undefined): ReadSearch {
  if (isMade(query)) return { request: query, pairs: undefined };
  const pairs = pairsOf(query);
  return { request: parseSearch(type, new URLSearchParams(pairs.map(([...pair]) => pair)), { baseUrl }), pairs };
}

/**
 * The names of the parameters that a search is stated by, without modifiers and chains. Never throws.
 *
 * Of names that are none nothing is told: who types a name into the wrong place would leave it in the audit trail.
 */
export function auditedParameters(type: string, query: RepositorySearch): readonly string[] {
  const names = isMade(query)
    ? parametersIn(query.criteria)
    : isStated(query)
      ? pairsOf(query).map(([name]) => name.split(/[:.]/, 1)[0]!)
      : [];
  return [...new Set(names)].filter((name) => RESULT_NAMES.has(name) || searchParameter(type, name) !== undefined);
}

const RESULT_NAMES: ReadonlySet<string> = new Set([
  '_count',
  '_filter',
  '_has',
  '_offset',
  '_sort',
  '_summary',
  '_total',
]);

const CRITERIA_KINDS: ReadonlySet<unknown> = new Set<Criteria['kind']>([
  'all',
  'none',
  'and',
  'or',
  'not',
  'id',
  'last-updated',
  'match',
  'missing',
  'composite',
  'chain',
  'has',
]);

function isMade(query: unknown): query is CriteriaSearch {
  return typeof query === 'object' && query !== null && MADE.has(query);
}

function isStated(query: unknown): query is SearchInput {
  return typeof query === 'string' || (typeof query === 'object' && query !== null);
}

function pairsOf(query: SearchInput): (readonly [string, string])[] {
  if (typeof query === 'string' || query instanceof URLSearchParams) return [...new URLSearchParams(query)];
  // A Map has no properties: it would state no parameter at all, and find everything.
  if (!isJsonObject(query) || Symbol.iterator in query)
    throw new FhirError(
      'invalid',
      'A search is a query string, parameters, an object of these, or made by createSearch',
    );
  return Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : value === undefined ? [] : [value]).map(
      (one) => [name, textOf(name, one)] as const,
    ),
  );
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  const hint = name === 'criteria' || name === 'of' ? '; criteria go in by createSearch' : '';
  throw new FhirError('invalid', `The value of search parameter "${name.slice(0, 40)}" must be a string${hint}`);
}

function parametersIn(criteria: Criteria): string[] {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return criteria.of.flatMap(parametersIn);
    case 'not':
      return parametersIn(criteria.of);
    case 'id':
      return ['_id'];
    case 'last-updated':
      return ['_lastUpdated'];
    case 'has':
      return ['_has'];
    case 'match':
    case 'missing':
    case 'composite':
    case 'chain':
      return [criteria.parameter];
    case 'all':
    case 'none':
      return [];
  }
}
