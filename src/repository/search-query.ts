import type { FhirModel } from '../fhir/model/fhir-model.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject } from '../fhir/resource.js';
import { withoutCursor } from '../interactions/pages.js';
import { childrenOf, type Criteria } from '../search/criteria/criteria.js';
import { parseSearch, type SearchInput, type SearchRequest, withoutEmpty } from '../search/parse/parse-search.js';
import { parameterNames, type SearchPair, searchPairs } from '../search/parse/search-pairs.js';

import type { Include } from './search/include.js';
import { readResultParameters } from './search/result-parameters.js';
import type { Subset } from './search/subset.js';

declare const made: unique symbol;

/** A search by criteria, created by {@link createSearch}; its members are internal. */
export interface CriteriaSearch {
  readonly [made]: true;
}

/** A search: text or parameters as in a URL, or criteria by {@link createSearch}. */
export type RepositorySearch = SearchInput | CriteriaSearch;

/** The searches created by {@link createSearch}; client input is never among them. */
const MADE = new WeakSet<object>();

/**
 * Creates a search from criteria instead of text.
 *
 * A plain object always means search parameters. Otherwise, the object that a web framework parses from `?kind=all` or
 * `?criteria[kind]=all` would count as criteria and find everything, regardless of the rest of the query. Never build
 * criteria from unvalidated client input.
 *
 * @throws FhirError `invalid` - not criteria
 *
 * @example
 * const criteria: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };
 * await repository.search('Patient', createSearch({ criteria, count: 50 }));
 */
export function createSearch(request: SearchRequest): CriteriaSearch {
  if (!isJsonObject(request) || !isJsonObject(request.criteria) || !CRITERIA_KINDS.has(request.criteria.kind)) {
    throw new FhirError('invalid', 'createSearch takes an object with criteria');
  }
  const search = Object.freeze({ ...request }) as object as CriteriaSearch;
  MADE.add(search);
  return search;
}

/** A parsed search, with its parameters if it was given as parameters. */
export interface ReadSearch {
  readonly request: SearchRequest;
  readonly pairs: readonly SearchPair[] | undefined;
  readonly includes: readonly Include[];
  readonly subset: Subset | undefined;
}

/** @throws FhirError `invalid`, `unsupported`, `too-costly` */
export function readSearch(model: FhirModel, type: string, query: RepositorySearch): ReadSearch {
  if (isMade(query)) return { request: query, pairs: undefined, includes: [], subset: undefined };
  const pairs = withoutEmpty(model, type, searchPairs(query, createSearchHint));
  const { includes, subset, rest } = readResultParameters(model, type, withoutCursor(pairs));
  const request = parseSearch(model, type, new URLSearchParams(rest.map(([...pair]) => pair)));
  return { request, pairs, includes, subset };
}

/** The names of the parameters of a search, for audit records; see `parameterNames`. Never throws. */
export function auditedParameters(model: FhirModel, type: string, query: RepositorySearch): readonly string[] {
  const names = isMade(query)
    ? parametersIn(query.criteria)
    : isStated(query)
      ? searchPairs(query).map(([name]) => name)
      : [];
  return parameterNames(model, type, names);
}

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

function isMade(query: unknown): query is CriteriaSearch & SearchRequest {
  return typeof query === 'object' && query !== null && MADE.has(query);
}

function isStated(query: unknown): query is SearchInput {
  return typeof query === 'string' || (typeof query === 'object' && query !== null);
}

/** Suggests createSearch for an object that looks like criteria. */
function createSearchHint(name: string): string {
  if (name === '') return ', or made by createSearch';
  return name === 'criteria' || name === 'of' ? '; criteria go in by createSearch' : '';
}

/** The parameter names of criteria; targets of chains have no names of their own. */
function parametersIn(criteria: Criteria): string[] {
  switch (criteria.kind) {
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
    default:
      return childrenOf(criteria).flatMap(parametersIn);
  }
}
