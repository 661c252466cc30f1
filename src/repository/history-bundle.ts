import { entityTag } from '../fhir/entity-tag.js';
import type { GuardedKey } from '../access/contract.js';
import { referenceTo } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import { ShortPage } from '../store/text-budget.js';
import type { HistoryEntry, HistoryPage, VersionRange } from '../store/history.js';
import { ATTEMPTS } from '../store/with-retries.js';
import { type FoundHistoryPage, HistoryPaging } from './history-paging.js';
import { findWindow, type HistoryEdge, type HistoryPeriod, isWithin } from './history-window.js';
import type { Page, PageLink } from '../fhir/page-links.js';
import { notFound } from '../fhir/not-found.js';
import { assertReadable } from '../interactions/missing.js';
import type { VersionsPage } from './repository.js';
import type { RepositorySession } from './repository-context.js';
import { readAt, readSince } from './since.js';

interface HistoryBundle {
  readonly resourceType: 'Bundle';
  readonly type: 'history';
  readonly total: number;
  readonly link: readonly PageLink[];
  readonly entry?: readonly HistoryBundleEntry[];
}

/** A version in a Bundle of type `history`. */
export interface HistoryBundleEntry {
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
export function toHistoryEntry(
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
