import type { Bundle } from '@medplum/fhirtypes';
import { FhirError } from '../fhir/error.js';
import { urlBelow } from '../fhir/reference.js';
import { foreignCursor, requestedPage } from '../interactions/pages.js';
import { parseWhole } from '../search/parse/parse-search.js';
import { searchPairs, type SearchPair } from '../search/parse/search-pairs.js';
import { requireResourceType } from '../search/parse/parse-context.js';
import type { OpenRepository } from './open-repository.js';
import type { RepositorySession } from './repository.js';
import { searchBundle } from './search-bundle.js';
import { auditedParameters } from './search-query.js';

type SearchEntry = NonNullable<Awaited<ReturnType<typeof searchBundle>>['entry']>[number];

/**
 * A page of a search over several types (`_type`), one type after the other: each is searched as alone, so that its
 * rules and parameters apply. The cursor of the next link names the type in which the search continues. See
 * https://hl7.org/fhir/R4/http.html#vsearch.
 *
 * @throws FhirError `invalid` - `_type` is missing; a parameter that a type does not have
 */
export function searchTypes(open: OpenRepository, parameters: URLSearchParams): Promise<Bundle> {
  const { interact, bundle, context } = open;
  const types = [...new Set(parameters.getAll('_type').flatMap((value) => value.split(',')))].filter(
    (one) => one !== '',
  );
  return interact('search', { type: types[0] ?? '' }, async (facts, session) => {
    const { model } = context.store;
    for (const type of types) requireResourceType(model, type);
    if (types.length === 0) throw new FhirError('invalid', 'A search over all types needs "_type"');
    const given = searchPairs(parameters).filter(([name]) => name !== '_type');
    facts.targets = types.map((type) => ({ type }));
    facts.parameters = auditedParameters(model, types[0]!, parameters);
    if (given.some(([name]) => name === '_offset')) {
      throw new FhirError('unsupported', 'A search over several types has no "_offset"; follow its next link');
    }
    const { entry, total, link } = await typesPage(types, given, session);
    facts.results = entry.length;
    return bundle({
      ...{ resourceType: 'Bundle', type: 'searchset', ...(total === undefined ? {} : { total }), link },
      ...(entry.length === 0 ? {} : { entry }),
    });
  });
}

interface TypesPage {
  readonly entry: readonly SearchEntry[];
  readonly total: number | undefined;
  readonly link: readonly object[];
}

async function typesPage(
  types: readonly string[],
  given: readonly SearchPair[],
  session: RepositorySession,
): Promise<TypesPage> {
  const counts = valueOf(given, '_summary') === 'count';
  const size = valueOf(given, '_count');
  const wanted = size === undefined ? undefined : parseWhole('_count', size);
  const { count } = requestedPage({ count: counts ? 0 : wanted });
  const cursor = valueOf(given, '_cursor');
  const [start, ...inner] = placeOf(cursor, types);
  const asked = given.filter(([name]) => !(PAGE_PARAMETERS.has(name) || (counts && name === '_summary')));
  const search = (type: string, ...more: readonly SearchPair[]): ReturnType<typeof searchBundle> =>
    searchBundle(type, new URLSearchParams([...asked, ...more].map(([...pair]) => pair)), session);

  let total: number | undefined;
  if (count === 0 || valueOf(given, '_total') !== undefined) {
    total = 0;
    for (const type of types) total += (await search(type, ['_count', '0'])).total ?? 0;
  }
  const entry: SearchEntry[] = [];
  let left = count;
  let next: string | undefined;
  for (const type of count === 0 ? [] : types.slice(start)) {
    if (left === 0) next ??= type;
    if (next !== undefined) break;
    const found = await search(type, ['_count', String(left)], ...(type === types[start] ? inner : []));
    entry.push(...(found.entry ?? []));
    left -= (found.entry ?? []).filter(({ search: { mode } }) => mode === 'match').length;
    const more = found.link?.find(({ relation }) => relation === 'next')?.url;
    if (more !== undefined) next = `${type}~${innerPlace(more)}`;
  }
  const url = (place: string | undefined): string => {
    const kept = given.filter(([name]) => name !== '_cursor').map(([...pair]) => pair);
    const query = new URLSearchParams([['_type', types.join(',')], ...kept]);
    if (place !== undefined) query.set('_cursor', place);
    return urlBelow(session.baseUrl, `?${query.toString()}`);
  };
  const self = { relation: 'self', url: url(cursor) };
  return { entry, total, link: next === undefined ? [self] : [self, { relation: 'next', url: url(next) }] };
}

/** The parameters that are about the page as a whole. */
const PAGE_PARAMETERS: ReadonlySet<string> = new Set(['_count', '_cursor', '_total']);

/** @throws FhirError `invalid` - it is given twice */
function valueOf(given: readonly SearchPair[], asked: string): string | undefined {
  const [value, ...others] = given.flatMap(([name, one]) => (name === asked ? [one] : []));
  if (others.length > 0) throw new FhirError('invalid', `"${asked}" may be given once, not several times`);
  return value;
}

/** The place of the next page in its type; a long cursor is an offset. */
function innerPlace(url: string): string {
  const query = new URLSearchParams(url.slice(url.indexOf('?')));
  return query.get('_cursor') ?? `+${query.get('_offset') ?? ''}`;
}

/** The type in which the page begins, and the parameter of its place there. */
function placeOf(cursor: string | undefined, types: readonly string[]): readonly [start: number, ...SearchPair[]] {
  if (cursor === undefined) return [0];
  const [type = '', inner] = cursor.split('~', 2);
  const start = types.indexOf(type);
  if (start < 0) throw foreignCursor();
  if (inner === undefined) return [start];
  return [start, inner.startsWith('+') ? ['_offset', inner.slice(1)] : ['_cursor', inner]];
}
