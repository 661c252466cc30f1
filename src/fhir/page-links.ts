import { FhirError } from './error.js';
import { assertWholeNumber } from './whole-number.js';

/** `Bundle.link`: see https://hl7.org/fhir/R4/http.html#paging. */
export interface PageLink {
  readonly relation: 'self' | 'previous' | 'next';
  readonly url: string;
}

export interface Page {
  readonly count: number;
  readonly offset: number;
}

/** Resources on a page without `_count`. */
const DEFAULT_COUNT = 20;
/** Longest page, because a page is in memory at once. */
export const MAX_COUNT = 1000;

/**
 * The requested page, with its defaults.
 *
 * @throws FhirError `invalid` - no whole numbers from 0 up
 * @throws FhirError `too-costly` - longer than 1000
 */
export function pageOf({
  count = DEFAULT_COUNT,
  offset = 0,
}: { readonly [Name in keyof Page]?: number | undefined }): Page {
  for (const [name, value] of Object.entries({ count, offset })) assertWholeNumber(`${name} of the page`, value);
  if (count <= MAX_COUNT) return { count, offset };
  throw new FhirError(
    'too-costly',
    `A page of ${count} is requested; at most ${MAX_COUNT} are allowed; follow the links to the next pages instead`,
  );
}

/**
 * Links to this page and its neighbors.
 *
 * @param address without the parameters of the page: `Patient?name=Ann`, `Patient/1/_history`
 * @param more true when something comes after this page
 * @param baseUrl undefined: the links are relative to the service
 */
export function pageLinks(address: string, { count, offset }: Page, more: boolean, baseUrl?: string): PageLink[] {
  const url = (start: number): string => {
    const whole = baseUrl === undefined ? address : `${baseUrl}/${address}`;
    return `${whole}${whole.includes('?') ? '&' : '?'}_count=${count}${start === 0 ? '' : `&_offset=${start}`}`;
  };
  const links: PageLink[] = [{ relation: 'self', url: url(offset) }];
  if (offset > 0 && count > 0) links.push({ relation: 'previous', url: url(Math.max(0, offset - count)) });
  if (more) links.push({ relation: 'next', url: url(offset + count) });
  return links;
}

/** A search without its paging parameters, which the links replace. */
export function searchAddress(type: string, pairs: readonly (readonly [name: string, value: string])[]): string {
  const kept = pairs.filter(([name]) => name !== '_count' && name !== '_offset');
  const text = new URLSearchParams(kept.map(([...pair]) => pair)).toString();
  return text === '' ? type : `${type}?${text}`;
}
