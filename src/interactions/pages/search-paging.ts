import type { Caller } from '../../access/caller.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type PageLink, pageOf } from '../../fhir/page-links.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import { endOf } from '../../search/evaluate/sort.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import type { SearchPair } from '../../search/parse/search-pairs.js';
import type { ShortPage } from '../../store/text-budget.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { cursorText, foreignCursor, isCount, isNullOr, isPosition, positionAt, readCursor } from './cursor-text.js';
import { boundsOf, cutPage, neighbourOf, openingWindow, type PageWindow, type WindowedPage } from './page-window.js';

/** A REST search whose pages link to each other. */
export interface PagedSearch {
  readonly type: string;
  /** The project that it searches, if it need not be the caller's. */
  readonly project?: string | undefined;
  /** Its parameters; undefined for a search that is not text, which has no links. */
  readonly pairs: readonly SearchPair[] | undefined;
  readonly count: number | undefined;
  readonly offset: number | undefined;
  readonly sort: readonly SortKey[] | undefined;
  /** True if the answer is the number of matches alone. */
  readonly countOnly: boolean;
}

/** The page of a search that its `_count`, `_offset` and `_cursor` ask for. */
export class SearchPaging {
  readonly #search: PagedSearch;
  readonly #caller: Caller;
  readonly #window: PageWindow & { readonly count: number };
  readonly #cursor: string | undefined;

  /**
   * @throws FhirError `invalid` - no whole numbers, a cursor that is not from a link of this search, or one beside an offset
   * @throws FhirError `too-costly` - a page of more than 1000
   */
  constructor(search: PagedSearch, caller: Caller) {
    const { pairs = [], offset } = search;
    const cursors = pairs.filter(([name]) => name === '_cursor').map(([, value]) => value);
    const page = pageOf(search);
    this.#search = search;
    this.#caller = caller;
    this.#cursor = cursors[0];
    if (cursors.length > 1) throw new FhirError('invalid', '"_cursor" may be given once, not several times');
    if (this.#cursor === undefined) this.#window = { ...openingWindow(page.count, page.offset), count: page.count };
    else {
      if (offset !== undefined) throw new FhirError('invalid', '"_cursor" and "_offset" cannot be combined');
      this.#window = { ...this.#read(this.#cursor), count: page.count };
    }
  }

  /** The page in the store's query, with one match more, which shows whether another page follows. */
  get bounds(): Pick<SearchQuery, 'after' | 'before' | 'offset' | 'limit'> {
    return { ...boundsOf(this.#window), limit: this.isCount ? 0 : this.#window.count + 1 };
  }

  /** True if the page has no matches, only their number. */
  get isCount(): boolean {
    return this.#search.countOnly || this.#window.count === 0;
  }

  /** The page without the match that is too many. @param short says whether the store ended it early */
  cut(found: SearchPage, { isCut = false }: Partial<ShortPage> = {}): WindowedPage<StoredResource> {
    const page = cutPage(this.#window, this.isCount ? { ...found, matches: [] } : found);
    return isCut ? { ...page, more: true } : page;
  }

  /** Links to this page and to the pages before and after it, which begin or end at a match of this page. */
  links(page: WindowedPage<StoredResource>, model: FhirModel, baseUrl?: string): PageLink[] {
    const { sort } = this.#search;
    const { count, offset } = this.#window;
    const own = this.#cursor === undefined ? offsetOf(offset) : { _cursor: this.#cursor };
    const links: PageLink[] = [{ relation: 'self', url: this.#url(own, baseUrl) }];
    if (this.isCount || count === 0) return links;
    const order = { position: (match: StoredResource) => positionAt(model, match, sort, baseUrl), end: endOf(sort) };
    for (const relation of ['previous', 'next'] as const) {
      const window = neighbourOf(relation, page, order);
      if (window !== undefined) links.push({ relation, url: this.#url(this.#place(window), baseUrl) });
    }
    return links;
  }

  /** The parameter that leads to a window. */
  #place(window: PageWindow): { readonly [name: string]: string } {
    const { after, before, offset } = window;
    if (after === undefined && before === undefined) return offsetOf(offset);
    const cursor = cursorText([VERSION, after ?? null, before ?? null, offset], this.#caller, this.#question);
    // Servers refuse longer request lines.
    return cursor.length > MAX_IN_URL && offset !== null ? offsetOf(offset) : { _cursor: cursor };
  }

  #read(cursor: string): Omit<PageWindow, 'count'> {
    const content = readCursor(cursor, this.#caller, this.#question);
    if (!Array.isArray(content) || content.length !== 4 || content[0] !== VERSION) throw foreignCursor();
    const [, after, before, offset] = content as unknown[];
    if (!isNullOr(isPosition, after) || !isNullOr(isPosition, before) || !isNullOr(isCount, offset))
      throw foreignCursor();
    if ((after === null) === (before === null)) throw foreignCursor();
    return { after: after ?? undefined, before: before ?? undefined, offset };
  }

  /** What a cursor belongs to: the search without its page, in any order of its parameters. */
  get #question(): string {
    const { type, project, pairs = [] } = this.#search;
    const asked = pairs.filter(([name]) => !PAGE_PARAMETERS.has(name) && !FORMAT_PARAMETERS.has(name));
    return JSON.stringify([
      type,
      project ?? null,
      ...asked.toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
    ]);
  }

  #url(place: { readonly [name: string]: string }, baseUrl: string | undefined): string {
    const { type, pairs = [] } = this.#search;
    const kept = pairs.filter(([name]) => !PAGE_PARAMETERS.has(name));
    const parameters = new URLSearchParams(kept.map(([...pair]) => pair));
    parameters.append('_count', String(this.#window.count));
    for (const [name, value] of Object.entries(place)) parameters.append(name, value);
    return `${baseUrl === undefined ? '' : `${baseUrl}/`}${type}?${parameters.toString()}`;
  }
}

/** The parameters without `_cursor`, which {@link SearchPaging} reads. */
export function withoutCursor(pairs: readonly SearchPair[]): readonly SearchPair[] {
  return pairs.filter(([name]) => name !== '_cursor');
}

function offsetOf(offset: number | null): { readonly [name: string]: string } {
  return offset === null || offset === 0 ? {} : { _offset: String(offset) };
}

const PAGE_PARAMETERS: ReadonlySet<string> = new Set(['_count', '_offset', '_cursor']);

/** Increases when the meaning of the content changes. */
const VERSION = 1;

/** Maximum characters of a cursor in a link. */
const MAX_IN_URL = 4_000;
