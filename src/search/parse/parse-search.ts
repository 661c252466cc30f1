import { FhirError } from '../../fhir/error.js';
import { orList, quote } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { ALL, and, type Criteria, type SortKey } from '../criteria/criteria.js';
import { walkName } from './chain.js';
import { parseFilterIn } from './filter/parse-filter.js';
import { createParseContext, requireParameter, requireResourceType, type SearchOptions } from './parse-context.js';
import { parseParameterIn } from './parse-parameter.js';
import { isResultParameter, type SearchPair, searchPairs } from './search-pairs.js';

/** A parsed search request: criteria and result options. Options not given are absent. */
export interface SearchRequest {
  readonly criteria: Criteria;
  readonly sort?: readonly SortKey[] | undefined;
  /** Maximum page size. */
  readonly count?: number | undefined;
  /** Number of matches to skip before the page. */
  readonly offset?: number | undefined;
  readonly total?: TotalMode | undefined;
  /** True for `_summary=count`: return only the number of matches. */
  readonly summaryCount?: boolean | undefined;
}

/** Whether a search counts its matches. */
export type TotalMode = 'none' | 'estimate' | 'accurate';

/**
 * A search: a query string (`name=Ann&birthdate=ge2010`, percent-encoded, a leading `?` allowed), parsed parameters, or
 * an object. Repetition, and an array in an object, mean "and"; commas mean "or".
 */
export type SearchInput =
  string | URLSearchParams | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * Parses a REST-style search: parameters with modifiers and chains, `_filter`, `_sort`, `_count`, `_offset`, `_total`,
 * `_summary=count`.
 *
 * See https://hl7.org/fhir/R4/search.html.
 *
 * @throws FhirError `invalid` - unknown name or malformed value.
 * @throws FhirError `unsupported` - a FHIR parameter that is not supported, such as `_include`.
 * @throws FhirError `too-costly` - more comparisons than allowed.
 * @example
 * parseSearch('Patient', 'name=Ann&birthdate=ge2010&_sort=-birthdate&_count=20');
 */
export function parseSearch(
  model: FhirModel,
  type: string,
  query: SearchInput,
  options?: SearchOptions,
): SearchRequest {
  requireResourceType(model, type);
  const context = createParseContext(model, options);
  const results: { -readonly [Name in keyof SearchRequest]?: SearchRequest[Name] } = {};
  const sorts: string[] = [];
  const criteria: Criteria[] = [];
  const once = new Set<string>();
  for (const [name, value] of searchPairs(query)) {
    if (RESULT_PARAMETERS.has(name)) {
      if (once.has(name)) throw new FhirError('invalid', `"${name}" may be given once, not several times`);
      once.add(name);
    }
    switch (name) {
      case '_filter':
        criteria.push(parseFilterIn(context, type, value));
        break;
      case '_sort':
        sorts.push(value);
        break;
      case '_count':
        results.count = parseWhole(name, value);
        break;
      case '_offset':
        results.offset = parseWhole(name, value);
        break;
      case '_total':
        results.total = parseTotal(value);
        break;
      case '_summary':
        if (parseSummary(value)) results.summaryCount = true;
        break;
      default:
        if (FORMAT_PARAMETERS.has(name)) break;
        assertSupported(name);
        criteria.push(parseParameterIn(context, type, name, [value]));
    }
  }
  if (sorts.length > 0) results.sort = parseSort(model, type, sorts);
  return { ...results, criteria: and(criteria) };
}

const RESULT_PARAMETERS: ReadonlySet<string> = new Set(['_count', '_offset', '_total', '_summary']);

/**
 * The parameters that have a value: a read ignores `name=`, as HAPI FHIR and R5 do, but refuses unknown names even then.
 *
 * Only for reads. A conditional write, a reference or a policy that lost a parameter would match more than was meant.
 *
 * @param isOwn names that the caller reads itself
 * @throws FhirError `invalid`, `unsupported` - as {@link parseSearch}
 */
export function withoutEmpty(
  model: FhirModel,
  type: string,
  pairs: readonly SearchPair[],
  isOwn: (name: string) => boolean = () => false,
): SearchPair[] {
  return pairs.filter(([name, value]) => {
    if (value !== '') return true;
    const isSearch =
      name.startsWith('_has') || !(isOwn(name) || isResultParameter(name) || FORMAT_PARAMETERS.has(name));
    if (isSearch) {
      const last = (at: string, code: string): Criteria => (requireParameter(model, at, code), ALL);
      walkName(requireResourceType(model, type), name, createParseContext(model), last);
    }
    return false;
  });
}

/** Parameters that choose the response format. They do not affect the result and are ignored. */
export const FORMAT_PARAMETERS: ReadonlySet<string> = new Set(['_format', '_pretty']);

/** FHIR parameters that change the result in unsupported ways. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  '_include',
  '_revinclude',
  '_elements',
  '_contained',
  '_containedType',
  '_cursor',
  '_since',
]);

function assertSupported(name: string): void {
  const base = name.split(':', 1)[0]!;
  if (UNSUPPORTED.has(base)) throw new FhirError('unsupported', `Search parameter "${base}" is not supported`);
}

export function parseWhole(name: string, text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  if (value === undefined)
    throw new FhirError('invalid', `"${name}" takes a whole number from 0 up, not ${quote(text)}`);
  return value;
}

function parseTotal(text: string): TotalMode {
  if (text === 'none' || text === 'estimate' || text === 'accurate') return text;
  throw new FhirError('invalid', `"_total" takes ${orList(['none', 'estimate', 'accurate'])}, not ${quote(text)}`);
}

/** True for `count`; `false` returns whole resources, the default. */
function parseSummary(text: string): boolean {
  if (text === 'count') return true;
  if (text === 'false') return false;
  const known = text === 'true' || text === 'text' || text === 'data';
  throw new FhirError(known ? 'unsupported' : 'invalid', `"_summary" takes count or false here, not ${quote(text)}`);
}

/**
 * Parses `_sort`: parameter codes separated by commas, with a minus for descending order.
 *
 * The first occurrence of a repeated parameter counts. See https://hl7.org/fhir/R4/search.html#sort.
 *
 * @param texts one or more `_sort` values; in order.
 * @throws FhirError `invalid` - an unknown parameter, an empty key, a composite parameter.
 * @throws FhirError `unsupported` - `_score`, or a parameter of type special.
 * @example
 * parseSort('Observation', ['-date,code']); // [{ parameter: 'date', descending: true }, { parameter: 'code', … }]
 */
export function parseSort(model: FhirModel, type: string, texts: readonly string[]): SortKey[] {
  const keys = new Map<string, SortKey>();
  for (const text of texts) {
    for (const part of text.split(',', MAX_KEYS + 1)) {
      const descending = part.startsWith('-');
      const parameter = descending ? part.slice(1) : part;
      assertSortable(model, type, parameter, text);
      if (!keys.has(parameter)) keys.set(parameter, { parameter, descending });
    }
  }
  return [...keys.values()];
}

/** No type has this many parameters, so further keys would be repetitions. */
const MAX_KEYS = 200;

function assertSortable(model: FhirModel, type: string, parameter: string, text: string): void {
  if (parameter === '') {
    throw new FhirError(
      'invalid',
      `"_sort" takes search parameters such as "-date,code", but ${quote(text)} has an empty one`,
    );
  }
  if (requireParameter(model, type, parameter).type === 'composite') {
    throw new FhirError('invalid', `"_sort" cannot order by composite search parameter "${parameter}"`);
  }
}
