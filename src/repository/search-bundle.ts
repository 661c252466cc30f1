import { type PageLink, SearchPaging } from '../interactions/pages.js';
import { referenceTo } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import { requireResourceType } from '../search/parse/parse-context.js';
import { ShortPage } from '../store/text-budget.js';
import type { RepositorySession } from './repository.js';
import { readSearch, type ReadSearch, type RepositorySearch } from './search-query.js';
import { followIncludes } from './search/follow-includes.js';
import { subsetOf } from './search/subset.js';

interface SearchBundle {
  readonly resourceType: 'Bundle';
  readonly type: 'searchset';
  readonly total?: number;
  readonly link?: readonly PageLink[];
  /** Omitted if empty: FHIR's JSON has no empty arrays. */
  readonly entry?: readonly {
    readonly fullUrl?: string;
    readonly resource: AnyResource;
    readonly search: { readonly mode: 'match' | 'include' };
  }[];
}

/** One page of a search. See https://hl7.org/fhir/R4/http.html#search and https://hl7.org/fhir/R4/bundle.html#searchset. */
export async function searchBundle(
  type: string,
  query: RepositorySearch,
  session: RepositorySession,
): Promise<SearchBundle> {
  requireResourceType(session.store.model, type);
  const { baseUrl, store, options } = session;
  const search = readSearch(session.store.model, type, query);
  const { criteria, sort, count, offset, total: totalMode = 'none', summaryCount = false } = search.request;
  const paging = new SearchPaging(
    { type, pairs: search.pairs, count, offset, sort, countOnly: summaryCount },
    store.caller,
  );
  const total = paging.isCount || totalMode !== 'none';
  const shortens = new ShortPage();
  const answer = await store.search(
    // A search without links cannot continue after a shorter page.
    { type, criteria, sort, ...paging.bounds, total, shortens: search.pairs && shortens },
    options,
  );
  const page = paging.cut(answer, shortens);
  const found = page.matches.map(({ resource }) => resource);
  const included = await followIncludes(search.includes, found, session);
  for (const resource of [...found, ...included]) session.trace?.show(resource);
  const entry = [
    ...found.map((resource) => entryOf(resource, 'match', search, session)),
    ...included.map((resource) => entryOf(resource, 'include', search, session)),
  ];
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    ...(page.total === undefined ? {} : { total: page.total }),
    ...(search.pairs && { link: paging.links(page, store.model, baseUrl) }),
    ...(entry.length === 0 ? {} : { entry }),
  };
}

/** `_elements` and `_fields` are about the matches, `_summary` is about all resources. */
function entryOf(
  resource: AnyResource,
  mode: 'match' | 'include',
  { subset }: ReadSearch,
  { store, baseUrl }: RepositorySession,
): NonNullable<SearchBundle['entry']>[number] {
  const isReduced = subset !== undefined && (mode === 'match' || subset.kind !== 'elements');
  return {
    ...(baseUrl === undefined ? {} : { fullUrl: `${baseUrl}/${referenceTo(resource.resourceType, resource.id!)}` }),
    resource: isReduced ? subsetOf(store.model, resource, subset) : resource,
    search: { mode },
  };
}
