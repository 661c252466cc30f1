import type { Caller } from '../access/caller.js';
import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { urlBelow } from '../fhir/reference.js';
import { isJsonObject } from '../fhir/resource.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import { textOfBase64Url, textToBase64Url } from '../platform/bytes.js';
import { sha256Of } from '../platform/crypto.js';
import type { SortKey } from '../search/criteria/criteria.js';
import { createSubject } from '../search/evaluate/search-subject.js';
import { endOf, positionOf, type SearchPosition } from '../search/evaluate/sort.js';
import { FORMAT_PARAMETERS } from '../search/parse/parse-search.js';
import type { SearchPair } from '../search/parse/search-pairs.js';
import type { SearchPage, SearchQuery } from '../store/search-query.js';
import type { StoredResource } from '../store/stored-resource.js';
import type { ShortPage } from '../store/text-budget.js';

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
export function requestedPage({
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

/** A page beside the one that a search returned. */
export type CursorPart = 'first' | 'previous' | 'next' | 'last';

/**
 * The part of all matches on a page: a number of matches from an offset, after a position or before one.
 *
 * ```text
 * matches   a b c d e f g      pages of 2
 * opening   [a b]              offset 0
 * next          [c d]          after b, offset 2
 * last              [f g]      before the end
 * ```
 */
export interface PageWindow {
  /** Maximum number of matches; undefined: all matches are one page. */
  readonly count: number | undefined;
  /** Number of matches before the page; null if unknown. */
  readonly offset: number | null;
  /** The page begins after this position. */
  readonly after: SearchPosition | undefined;
  /** The page ends before this position. */
  readonly before: SearchPosition | undefined;
}

/** A page as returned by a search. */
export interface WindowedPage<Match> {
  readonly window: PageWindow;
  /** Without the extra match that shows whether another page follows. */
  readonly matches: readonly Match[];
  /** Whether there was one more match, on the side away from the bounding position. */
  readonly more: boolean;
  /** The number of all matches; undefined if not counted. */
  readonly total: number | undefined;
}

/** Creates positions. */
export interface MatchOrder<Match> {
  position(match: Match): SearchPosition;
  /** The position after all matches. */
  readonly end: SearchPosition;
}

/** The window that the arguments request. */
export function openingWindow(count: number | undefined, offset: number): PageWindow {
  return { count, offset, after: undefined, before: undefined };
}

/** The bounds passed to the store. A position determines the page, so no offset is applied. */
export function windowBounds({
  offset,
  after,
  before,
}: PageWindow): Pick<PageWindow, 'after' | 'before'> & { offset: number } {
  const isPositioned = after !== undefined || before !== undefined;
  return { offset: isPositioned ? 0 : (offset ?? 0), after, before };
}

/** Creates the page from the result of a search for up to one extra match. */
export function cutPage<Match>(
  window: PageWindow,
  found: { readonly matches: readonly Match[]; readonly total?: number | undefined },
): WindowedPage<Match> {
  const { count, before } = window;
  const { matches, total } = found;
  if (count === undefined || matches.length <= count) return { window, matches, more: false, total };
  return { window, matches: before === undefined ? matches.slice(0, count) : matches.slice(-count), more: true, total };
}

/** The window of another page; undefined if no such page exists: without `_count`, all matches are one page. */
export function neighbourOf<Match>(
  part: CursorPart,
  page: WindowedPage<Match>,
  order: MatchOrder<Match>,
): PageWindow | undefined {
  const { count } = page.window;
  return count === undefined || count === 0 ? undefined : NEIGHBOURS[part](page as WindowedPage<never>, count, order);
}

type Neighbour = (page: WindowedPage<never>, count: number, order: MatchOrder<never>) => PageWindow | undefined;

const NEIGHBOURS: { readonly [Part in CursorPart]: Neighbour } = {
  first: (page, count) => (isEmpty(page) ? undefined : openingWindow(count, 0)),
  last: (page, count, order) => (isEmpty(page) ? undefined : lastWindow(page, count, order)),
  next({ window, matches, more }, count, order) {
    const { before, offset } = window;
    const last = matches.at(-1);
    // A page that ends before a position was reached backwards; if it has no matches, it precedes all of them.
    if (before !== undefined && last === undefined) return openingWindow(count, 0);
    const follows = before === undefined ? more : before.id !== order.end.id;
    if (!follows) return undefined;
    return { count, offset: shifted(offset, matches.length), after: order.position(last!), before: undefined };
  },
  previous(page, count, order) {
    const { window, matches, more } = page;
    const { after, before, offset } = window;
    const precedes = before === undefined ? after !== undefined || offset !== 0 : more;
    if (!precedes) return undefined;
    const [first] = matches;
    if (first === undefined) return lastWindow(page, count, order);
    return { count, offset: shifted(offset, -count), after: undefined, before: order.position(first) };
  },
};

/** True if this page shows that there is no other. */
function isEmpty({ window: { after, before, offset }, matches }: WindowedPage<never>): boolean {
  return matches.length === 0 && after === undefined && before === undefined && offset === 0;
}

function lastWindow({ total }: WindowedPage<never>, count: number, { end }: MatchOrder<never>): PageWindow {
  const offset = total === undefined ? null : Math.max(0, total - count);
  return { count, offset, after: undefined, before: end };
}

function shifted(offset: number | null, by: number): number | null {
  return offset === null ? null : Math.max(0, offset + by);
}

/** Maximum length in characters, written or read: the cursor of a connection contains its search. */
export const MAX_CURSOR_LENGTH = 100_000;

/**
 * Writes a cursor: JSON in base64url, with a checksum that binds it to the caller and to the question that it continues.
 *
 * The checksum detects damaged, truncated and shared cursors. It is not a signature, and security does not depend on
 * it: a cursor only moves a page, which the sender's own rights decide.
 *
 * @param question what the cursor belongs to, if the content does not say it
 */
export function cursorText(content: readonly unknown[], caller: Caller, question?: string): string {
  const json = JSON.stringify(content);
  return `${textToBase64Url(json)}.${checksum(json, caller, question)}`;
}

/**
 * The content of a cursor; undefined if it is malformed, or belongs to another caller or question. Anyone who knows the
 * algorithm can compute a valid checksum, so the content is as untrusted as any argument.
 */
export function readCursor(text: string, caller: Caller, question?: string): unknown {
  const match = text.length > MAX_CURSOR_LENGTH ? null : /^([\w-]+)\.([\w-]+)$/.exec(text);
  if (match === null) return undefined;
  const json = textOfBase64Url(match[1]!);
  if (checksum(json, caller, question) !== match[2]) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The refusal of what {@link readCursor} does not know. */
export function damagedCursor(): FhirError {
  return new FhirError('invalid', 'The cursor is damaged, or was not made for this caller; begin again without one');
}

/** The refusal of a cursor in a link: it may be another link's. */
export function foreignCursor(): FhirError {
  const message =
    'The "_cursor" is damaged, or is not from a link of this search for this caller; begin again without it';
  return new FhirError('invalid', message);
}

function checksum(json: string, caller: Caller, question: string | undefined): string {
  const identity = caller.kind === 'member' ? caller.membership : '';
  const bound = [caller.kind, caller.project, identity, json, ...(question === undefined ? [] : [question])];
  return sha256Of(JSON.stringify(bound), 'base64url').slice(0, 22);
}

/**
 * The position of a match as visible to the caller: hidden sort values are absent, and the guard removes that sort key
 * and its value.
 */
export function positionAt(
  model: FhirModel,
  { resource }: Pick<StoredResource, 'resource'>,
  sort: readonly SortKey[] | undefined,
): SearchPosition {
  if (sort === undefined) return { values: [], id: resource.id! };
  const subject = createSubject(model, resource, resource.meta?.lastUpdated ?? '');
  const { values, id } = positionOf(subject, sort);
  return { values: values.map((value) => (Number.isNaN(value) ? null : value)), id };
}

/** The store checks whether its values fit the sort. */
export function isPosition(value: unknown): value is SearchPosition {
  return (
    isJsonObject(value) &&
    typeof value.id === 'string' &&
    Array.isArray(value.values) &&
    value.values.every((one: unknown) => one === null || typeof one === 'string' || typeof one === 'number')
  );
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isNullOr<Value>(is: (value: unknown) => value is Value, value: unknown): value is Value | null {
  return value === null || is(value);
}

/** A REST search whose pages link to each other. */
interface PagedSearch {
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
    const page = requestedPage(search);
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
    return { ...windowBounds(this.#window), limit: this.isCount ? 0 : this.#window.count + 1 };
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
    const order = { position: (match: StoredResource) => positionAt(model, match, sort), end: endOf(sort) };
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
    return urlBelow(baseUrl, `${type}?${parameters.toString()}`);
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
