import { entityTag } from '../fhir/entity-tag.js';
import type { GuardedKey } from '../access/contract.js';
import { referenceTo } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import type { HistoryEntry } from '../store/store.js';
import { pageLinks, pageOf, type PageLink } from './page-links.js';
import { notFound } from '../fhir/not-found.js';
import { assertReadable } from '../interactions/missing.js';
import type { VersionsPage } from './repository.js';
import type { RepositorySession } from './repository-context.js';

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
  // The version before the oldest one of the page shows whether that one is an update.
  const { entries, total } = await store.history(key, { offset: page.offset, limit: page.count + 1 }, options);
  if (total === 0) throw notFound(key);
  const entry = entries.slice(0, page.count).map((version, index) => {
    const before = entries[index + 1];
    return toHistoryEntry(key, version, before === undefined || before.kind === 'delete', baseUrl);
  });
  for (const version of entries.slice(0, page.count)) if (version.kind === 'put') trace?.show(version.resource);
  const more = page.count > 0 && entries.length > page.count;
  return {
    resourceType: 'Bundle',
    type: 'history',
    total,
    link: pageLinks(`${referenceTo(key.type, key.id)}/_history`, page, more, baseUrl),
    ...(entry.length === 0 ? {} : { entry }),
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
