import { referenceTo } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import { requireResourceType } from '../search/parse/require-parameter.js';
import { pageLinks, pageOf, type PageLink } from './page-links.js';
import type { RepositorySession } from './repository-context.js';
import { readSearch, type ReadSearch, type RepositorySearch } from './search-query.js';

interface SearchBundle {
  readonly resourceType: 'Bundle';
  readonly type: 'searchset';
  readonly total?: number;
  readonly link?: readonly PageLink[];
  /** Omitted if empty: FHIR's JSON has no empty arrays. */
  readonly entry?: readonly {
    readonly fullUrl?: string;
    readonly resource: AnyResource;
    readonly search: { readonly mode: 'match' };
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
  const search = readSearch(session.store.model, type, query, baseUrl);
  const { criteria, sort, total: totalMode = 'none', summaryCount = false } = search.request;
  const page = pageOf(search.request);
  const countOnly = summaryCount || page.count === 0;
  const found = await store.search(
    {
      type,
      criteria,
      sort,
      offset: page.offset,
      // One extra match shows whether there is a next page.
      limit: countOnly ? 0 : page.count + 1,
      total: countOnly || totalMode !== 'none',
    },
    options,
  );
  const more = !countOnly && found.matches.length > page.count;
  const matches = found.matches.slice(0, page.count);
  const entry = matches.map(({ resource }) => ({
    ...(baseUrl === undefined ? {} : { fullUrl: `${baseUrl}/${referenceTo(type, resource.id!)}` }),
    resource,
    search: { mode: 'match' as const },
  }));
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    ...(found.total === undefined ? {} : { total: found.total }),
    ...(search.pairs === undefined ? {} : { link: pageLinks(addressOf(type, search), page, more, baseUrl) }),
    ...(entry.length === 0 ? {} : { entry }),
  };
}

/** The search without its paging parameters, which the links replace. */
function addressOf(type: string, { pairs = [] }: ReadSearch): string {
  const kept = pairs.filter(([name]) => name !== '_count' && name !== '_offset');
  const text = new URLSearchParams(kept.map(([...pair]) => pair)).toString();
  return text === '' ? type : `${type}?${text}`;
}
