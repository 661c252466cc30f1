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
