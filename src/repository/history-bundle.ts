import type { Caller } from '../access/caller.js';
import type { GuardedKey } from '../access/contract.js';
import type { DateInterval } from '../fhir/date.js';
import { type AnyResource, entityTag, isResourceId } from '../fhir/resource.js';
import { FhirError } from '../fhir/error.js';
import { notFound, referenceTo, urlBelow } from '../fhir/reference.js';
import {
  cursorText,
  foreignCursor,
  isCount,
  type Page,
  type PageLink,
  requestedPage,
  readCursor,
} from '../interactions/pages.js';
import { assertReadable } from '../interactions/interaction-session.js';
import type { HistoryEntry, HistoryPage, VersionRange } from '../store/history.js';
import { ShortPage } from '../store/text-budget.js';
import { ATTEMPTS } from '../store/with-retries.js';
import { readAt, readSince } from './history-parameters.js';
import { newestVersions, type TypedPosition, type TypedVersion } from './newest-versions.js';
import type { RepositorySession, VersionsPage, TypeHistoryPage } from './repository.js';

interface HistoryBundle {
  readonly resourceType: 'Bundle';
  readonly type: 'history';
  readonly total: number;
  readonly link: readonly PageLink[];
  readonly entry?: readonly HistoryBundleEntry[];
}

/** A version in a Bundle of type `history`. */
interface HistoryBundleEntry {
  readonly fullUrl?: string;
  readonly resource?: AnyResource;
  readonly request: { readonly method: 'POST' | 'PUT' | 'DELETE'; readonly url: string };
  readonly response: { readonly status: string; readonly etag: string; readonly lastModified: string };
}

/** Versions of one resource, newest first. See https://hl7.org/fhir/R4/http.html#history. */
export async function historyBundle(
  key: GuardedKey,
  asked: VersionsPage,
  { store, options, baseUrl, trace }: RepositorySession,
): Promise<HistoryBundle> {
  assertReadable(store.model, key);
  const paging = new HistoryPaging(key, asked, store.caller);
  const period = periodOf(asked, paging.edge);
  const read = (wanted: VersionRange): Promise<HistoryPage> => store.history(key, wanted, options);
  const found = await findPage(read, paging.page, period);
  if (found.total === 0) throw notFound(key);
  const entry = found.versions.flatMap((version, index) => {
    // A version that was written since the window was found shifts the others.
    if (period !== undefined && !isWithin(version, period)) return [];
    if (version.kind === 'put') trace?.show(version.resource);
    const before = found.versions[index + 1] ?? found.next;
    // A page that ended early ends before a version with content.
    const isFirst = before === undefined && !found.isCut;
    return [toHistoryEntry(key, version, isFirst || before?.kind === 'delete', baseUrl)];
  });
  return {
    resourceType: 'Bundle',
    type: 'history',
    total: found.last - found.first,
    link: paging.links(found, baseUrl),
    ...(entry.length === 0 ? {} : { entry }),
  };
}

/** The page of a history that is asked for, with the version before its oldest one, which shows whether that is an update. */
async function findPage(
  read: (wanted: VersionRange) => Promise<HistoryPage>,
  { count: asked, offset }: Page,
  period: HistoryPeriod | undefined,
): Promise<FoundHistoryPage> {
  let count = asked;
  for (let attempt = 1; ; attempt += 1) {
    const window = period === undefined ? undefined : await findWindow(read, period);
    const { start: first = 0, end: last = Infinity, edge } = window ?? {};
    const isBefore = period?.edge?.side === 'before';
    const start = isBefore ? Math.max(first, Math.min(last, edge!) - count) : Math.max(first, edge ?? first + offset);
    const end = Math.max(start, Math.min(last, isBefore ? edge! : start + count));
    const shortens = new ShortPage();
    const { entries, total } = await read({ offset: start, limit: end - start + 1, shortens });
    if (isBefore && shortens.isCut) count = Math.max(1, entries.length - 1);
    // A version written in between shifts the others.
    if (window !== undefined && window.total !== total && attempt < ATTEMPTS.read) continue;
    // A page before a version ends with the version before it.
    if (isBefore && shortens.isCut && entries.length < end - start) continue;
    const versions = entries.slice(0, end - start);
    return {
      versions,
      next: entries[end - start],
      start,
      first,
      last: Math.min(last, total),
      total,
      isCut: shortens.isCut,
    };
  }
}

/** @throws FhirError `invalid` */
function periodOf({ since, at }: VersionsPage, edge: HistoryEdge | undefined): HistoryPeriod | undefined {
  if (since === undefined && at === undefined && edge === undefined) return undefined;
  return {
    since: since === undefined ? undefined : Date.parse(readSince(since)),
    at: at === undefined ? undefined : readAt(at),
    edge,
  };
}

/** @param created there was no current version before this one */
function toHistoryEntry(
  { type, id }: GuardedKey,
  version: HistoryEntry,
  created: boolean,
  baseUrl: string | undefined,
): HistoryBundleEntry {
  const name = referenceTo(type, id);
  const request =
    version.kind === 'delete'
      ? ({ method: 'DELETE', url: name } as const)
      : created
        ? ({ method: 'POST', url: type } as const)
        : ({ method: 'PUT', url: name } as const);
  const status = version.kind === 'delete' ? '204 No Content' : created ? '201 Created' : '200 OK';
  return {
    ...(baseUrl === undefined ? {} : { fullUrl: `${baseUrl}/${name}` }),
    ...(version.kind === 'put' ? { resource: version.resource } : {}),
    request,
    response: { status, etag: entityTag(version.versionId), lastModified: version.lastUpdated },
  };
}

/** The versions that a history is about. Instants in milliseconds since 1970. */
interface HistoryPeriod {
  /** Only versions written at this instant or later. */
  readonly since?: number | undefined;
  /** Only versions that were current at some moment of this interval. */
  readonly at?: DateInterval | undefined;
  /** Where a page begins or ends. */
  readonly edge?: HistoryEdge | undefined;
}

/** A version that a page begins after, or ends before; it may have been purged. */
interface HistoryEdge {
  readonly side: 'after' | 'before';
  /** When it was written. Milliseconds since 1970. */
  readonly instant: number;
  /** How many versions were older when the link was made. */
  readonly older: number;
}

/** Positions in the history of a resource, newest first: from `start` up to `end`, which is not in it. */
interface HistoryWindow {
  readonly start: number;
  readonly end: number;
  /** The position of the first version beyond the edge; undefined without an edge. */
  readonly edge: number | undefined;
  /** The number of all versions. */
  readonly total: number;
}

/** Reads versions of the resource, newest first. */
type ReadVersions = (page: { readonly offset: number; readonly limit: number }) => Promise<HistoryPage>;

/**
 * Finds the versions of a period. Versions of one resource never go back in time, so each end of the window takes one
 * call per halving of the history.
 *
 */
async function findWindow(read: ReadVersions, { since, at, edge }: HistoryPeriod): Promise<HistoryWindow> {
  const { total } = await read({ offset: 0, limit: 0 });
  const first = (isBefore: (time: number) => boolean, guess?: number): Promise<number> =>
    firstPosition(read, total, isBefore, guess);
  const start = at === undefined ? 0 : await first((time) => time < at.high);
  let end = since === undefined ? total : await first((time) => time < since);
  // The version of the beginning is the newest one that was written by then.
  if (at !== undefined) end = Math.min(end, 1 + (await first((time) => time <= at.low)));
  return { start, end: Math.max(start, Math.min(end, total)), edge: await edgeOf(edge, total, first), total };
}

/** Versions after the edge are older, those before it are newer. */
async function edgeOf(
  edge: HistoryEdge | undefined,
  total: number,
  first: (isBefore: (time: number) => boolean, guess: number) => Promise<number>,
): Promise<number | undefined> {
  if (edge === undefined) return undefined;
  const { side, instant, older } = edge;
  return side === 'after'
    ? first((time) => time < instant, total - older)
    : first((time) => time <= instant, total - older - 1);
}

/** Whether a version was written in the period, or may have been current in it, and is on the page's side of its edge. */
function isWithin(version: HistoryEntry, { since, at, edge }: HistoryPeriod): boolean {
  const time = Date.parse(version.lastUpdated);
  const isBeyond = edge === undefined || (edge.side === 'after' ? time < edge.instant : time > edge.instant);
  return isBeyond && (since === undefined || time >= since) && (at === undefined || time < at.high);
}

/**
 * The first position whose version was written before an instant; `total` without one.
 *
 * @param guess the position, unless versions were purged
 */
async function firstPosition(
  read: ReadVersions,
  total: number,
  isBefore: (time: number) => boolean,
  guess = -1,
): Promise<number> {
  const isAt = async (position: number): Promise<boolean> => {
    const [entry] = (await read({ offset: position, limit: 1 })).entries;
    return entry === undefined || isBefore(Date.parse(entry.lastUpdated));
  };
  let [low, high] = [0, total];
  if (guess >= 0 && guess <= total) {
    if (guess === total || (await isAt(guess))) high = guess;
    else low = guess + 1;
    if (high === guess && guess > 0 && !(await isAt(guess - 1))) low = guess;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await isAt(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface TypeHistoryBundle {
  readonly resourceType: 'Bundle';
  readonly type: 'history';
  readonly link: readonly PageLink[];
  readonly entry?: readonly HistoryBundleEntry[];
}

/**
 * A page of the versions of all resources of a type, or of all types, newest first. See
 * https://hl7.org/fhir/R4/http.html#history.
 *
 * @param type undefined: all
 */
export async function typeHistoryBundle(
  type: string | undefined,
  asked: TypeHistoryPage,
  { store, options, baseUrl, trace }: RepositorySession,
): Promise<TypeHistoryBundle> {
  const { model } = store;
  if (type !== undefined && !model.isResourceType(type)) throw notFound({ type, id: '' });
  const { count } = requestedPage({ count: asked.count });
  const question = JSON.stringify([type ?? null, '_history', asked.since ?? null]);
  const since = asked.since === undefined ? undefined : readSince(asked.since);
  const after = asked.cursor === undefined ? undefined : positionOf(readCursor(asked.cursor, store.caller, question));
  // One extra version shows whether there is a next page.
  const query = { since, after, limit: count === 0 ? 0 : count + 1 };
  const types = type === undefined ? model.resourceTypes : [type];
  const { versions, isCut } = await newestVersions(store, types, query, options);
  const page = versions.slice(0, count);
  for (const { version } of page) if (version.kind === 'put') trace?.show(version.resource);
  const path = type === undefined ? '_history' : `${type}/_history`;
  const url = (cursor: string | undefined): string => {
    const parameters = new URLSearchParams({
      ...(asked.since === undefined ? {} : { _since: asked.since }),
      _count: String(count),
      ...(cursor === undefined ? {} : { _cursor: cursor }),
    });
    return urlBelow(baseUrl, `${path}?${parameters.toString()}`);
  };
  const link: PageLink[] = [{ relation: 'self', url: url(asked.cursor) }];
  if (versions.length > count || isCut)
    link.push({ relation: 'next', url: url(cursorText(contentOf(page.at(-1)!), store.caller, question)) });
  return {
    resourceType: 'Bundle',
    type: 'history',
    link,
    ...(page.length === 0 ? {} : { entry: page.map((one) => toEntry(one, baseUrl)) }),
  };
}

function toEntry({ type, version }: TypedVersion, baseUrl: string | undefined): HistoryBundleEntry {
  return toHistoryEntry({ type, id: version.id }, version, version.kind === 'put' && version.created, baseUrl);
}

function contentOf({ type, version: { lastUpdated, id, versionId } }: TypedVersion): readonly string[] {
  return [type, lastUpdated, id, versionId];
}

/** @throws FhirError `invalid` */
function positionOf(content: unknown): TypedPosition {
  if (!Array.isArray(content) || content.length !== 4) throw foreignCursor();
  const [type, lastUpdated, id, versionId] = content as unknown[];
  if (typeof type === 'string' && isInstant(lastUpdated) && isResourceId(id) && isResourceId(versionId))
    return { type, lastUpdated, id, versionId };
  throw foreignCursor();
}

function isInstant(text: unknown): text is string {
  if (typeof text !== 'string' || !/^\d{4}-/.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

/** A page of the history of a resource, with positions among its versions, newest first. */
interface FoundHistoryPage {
  readonly versions: readonly HistoryEntry[];
  /** The version before the oldest one of the page. */
  readonly next: HistoryEntry | undefined;
  /** The position of the first version of the page. */
  readonly start: number;
  /** The positions that the history is about: from `first` up to `last`, which is not one of them. */
  readonly first: number;
  readonly last: number;
  /** The number of all versions. */
  readonly total: number;
  /** True if the page ended early, since its versions are large. */
  readonly isCut: boolean;
}

/** The page of a history that `_count`, `_offset` and `_cursor` ask for, and links to the pages beside it. */
class HistoryPaging {
  readonly page: Page;
  readonly edge: HistoryEdge | undefined;
  readonly #asked: VersionsPage;
  readonly #address: string;
  readonly #caller: Caller;

  /**
   * @throws FhirError `invalid` - no whole numbers, a cursor that is not from a link of this history, or one beside an offset
   * @throws FhirError `too-costly` - a page of more than 1000
   */
  constructor({ type, id }: GuardedKey, asked: VersionsPage, caller: Caller) {
    const { cursor, offset, since, at } = asked;
    this.page = requestedPage(asked);
    this.#asked = asked;
    this.#caller = caller;
    const parameters = new URLSearchParams({
      ...(since === undefined ? {} : { _since: since }),
      ...(at === undefined ? {} : { _at: at }),
    }).toString();
    this.#address = `${referenceTo(type, id)}/_history?${parameters === '' ? '' : `${parameters}&`}`;
    if (cursor !== undefined && offset !== undefined) {
      throw new FhirError('invalid', '"_cursor" and "_offset" cannot be combined');
    }
    this.edge = cursor === undefined ? undefined : this.#read(cursor);
  }

  links(found: FoundHistoryPage, baseUrl: string | undefined): PageLink[] {
    const { versions, start, first, last, total } = found;
    const { count, offset } = this.page;
    const { cursor } = this.#asked;
    const url = (place: string): string => urlBelow(baseUrl, `${this.#address}_count=${count}${place}`);
    const at = (position: number): string => (position <= 0 ? '' : `&_offset=${position}`);
    const beside = (side: HistoryEdge['side'], version: HistoryEntry, position: number): string => {
      const content = [VERSION, side, version.lastUpdated, Math.max(0, total - position - 1)];
      return `&_cursor=${cursorText(content, this.#caller, this.#address)}`;
    };
    const links: PageLink[] = [
      { relation: 'self', url: url(cursor === undefined ? at(offset) : `&_cursor=${cursor}`) },
    ];
    if (count === 0) return links;
    const end = start + versions.length;
    const [newest] = versions;
    const oldest = versions.at(-1);
    if (start > first) {
      const place = newest === undefined ? at(Math.min(start, last) - first - count) : beside('before', newest, start);
      links.push({ relation: 'previous', url: url(place) });
    }
    if (oldest !== undefined && end < last) {
      links.push({ relation: 'next', url: url(beside('after', oldest, end - 1)) });
    }
    return links;
  }

  #read(cursor: string): HistoryEdge {
    const content = readCursor(cursor, this.#caller, this.#address);
    if (!Array.isArray(content) || content.length !== 4 || content[0] !== VERSION) throw foreignCursor();
    const [, side, text, older] = content as unknown[];
    const instant = typeof text === 'string' ? Date.parse(text) : NaN;
    if ((side !== 'after' && side !== 'before') || Number.isNaN(instant) || !isCount(older)) throw foreignCursor();
    return { side, instant, older };
  }
}

/** Increases when the meaning of the content changes. */
const VERSION = 1;
