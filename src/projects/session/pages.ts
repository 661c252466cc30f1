import type { BundleLink } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import type { SearchRequest } from '../../search/parse/parse-search.js';

/** A page of a search for members or projects. */
export interface SearchedPage {
  readonly count: number;
  readonly offset: number;
}

/** Maximum and default page size. */
const MAX_COUNT = 1_000;

/** @throws FhirError `too-costly` - longer than 1000 */
export function pageOfSearch({ count = MAX_COUNT, offset = 0 }: SearchRequest): SearchedPage {
  if (count <= MAX_COUNT) return { count, offset };
  throw new FhirError(
    'too-costly',
    `A page of ${count} is requested; at most ${MAX_COUNT} are allowed; follow the links to the next pages instead`,
  );
}

/**
 * Links to this page and its neighbors, relative to the service. See https://hl7.org/fhir/R4/http.html#paging.
 *
 * @param more true when something comes after this page
 */
export function pageLinks(
  type: string,
  query: readonly (readonly [name: string, value: string])[],
  { count, offset }: SearchedPage,
  more: boolean,
): BundleLink[] {
  const kept = query.filter(([name]) => name !== '_count' && name !== '_offset');
  const url = (start: number): string => {
    const page: [string, string][] = [['_count', String(count)]];
    if (start > 0) page.push(['_offset', String(start)]);
    return `${type}?${new URLSearchParams([...kept.map(([name, value]): [string, string] => [name, value]), ...page]).toString()}`;
  };
  const links: BundleLink[] = [{ relation: 'self', url: url(offset) }];
  if (offset > 0 && count > 0) links.push({ relation: 'previous', url: url(Math.max(0, offset - count)) });
  if (more && count > 0) links.push({ relation: 'next', url: url(offset + count) });
  return links;
}
