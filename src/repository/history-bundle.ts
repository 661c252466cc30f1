import { entityTag } from '../fhir/entity-tag.js';
import type { GuardedKey } from '../access/contract.js';
import { referenceTo } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import type { HistoryEntry, HistoryPage } from '../store/history.js';
import { findWindow, type HistoryPeriod, isWithin } from './history-window.js';
import { pageLinks, pageOf, type PageLink } from '../fhir/page-links.js';
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
  const page = pageOf(asked);
  const read = (wanted: { offset: number; limit: number }): Promise<HistoryPage> => store.history(key, wanted, options);
  const period = periodOf(asked);
  const window = period === undefined ? undefined : await findWindow(read, period);
  const start = (window?.start ?? 0) + page.offset;
  const count = window === undefined ? page.count : Math.max(0, Math.min(page.count, window.end - start));
  // The version before the oldest one of the page shows whether that one is an update.
  const { entries, total: all } = await read({ offset: start, limit: count + 1 });
  if (all === 0) throw notFound(key);
  const total = window === undefined ? all : window.end - window.start;
  const entry = entries.slice(0, count).flatMap((version, index) => {
    // A version that was written since the window was found shifts the others.
    if (period !== undefined && !isWithin(version, period)) return [];
    if (version.kind === 'put') trace?.show(version.resource);
    const before = entries[index + 1];
    return [toHistoryEntry(key, version, before === undefined || before.kind === 'delete', baseUrl)];
  });
  return {
    resourceType: 'Bundle',
    type: 'history',
    total,
    link: pageLinks(addressOf(key, asked), page, page.count > 0 && page.offset + page.count < total, baseUrl),
    ...(entry.length === 0 ? {} : { entry }),
  };
}

/** @throws FhirError `invalid` */
function periodOf({ since, at }: VersionsPage): HistoryPeriod | undefined {
  if (since === undefined && at === undefined) return undefined;
  return {
    since: since === undefined ? undefined : Date.parse(readSince(since)),
    at: at === undefined ? undefined : readAt(at),
  };
}

/** The history without the parameters of its pages. */
function addressOf({ type, id }: GuardedKey, { since, at }: VersionsPage): string {
  const parameters = new URLSearchParams({
    ...(since === undefined ? {} : { _since: since }),
    ...(at === undefined ? {} : { _at: at }),
  }).toString();
  return `${referenceTo(type, id)}/_history${parameters === '' ? '' : `?${parameters}`}`;
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
