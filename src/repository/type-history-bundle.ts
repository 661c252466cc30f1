import { FhirError } from '../fhir/error.js';
import { notFound } from '../fhir/not-found.js';
import { isResourceId } from '../fhir/resource.js';
import type { TypeHistoryEntry, VersionPosition } from '../store/history.js';
import { type HistoryBundleEntry, toHistoryEntry } from './history-bundle.js';
import { pageOf, type PageLink } from '../fhir/page-links.js';
import type { TypeHistoryPage } from './repository.js';
import type { RepositorySession } from './repository-context.js';
import { readSince } from './since.js';

interface TypeHistoryBundle {
  readonly resourceType: 'Bundle';
  readonly type: 'history';
  readonly link: readonly PageLink[];
  readonly entry?: readonly HistoryBundleEntry[];
}

/** A page of the versions of all resources of a type, newest first. See https://hl7.org/fhir/R4/http.html#history. */
export async function typeHistoryBundle(
  type: string,
  asked: TypeHistoryPage,
  { store, options, baseUrl, trace }: RepositorySession,
): Promise<TypeHistoryBundle> {
  if (!store.model.isResourceType(type)) throw notFound({ type, id: '' });
  const { count } = pageOf({ count: asked.count });
  const since = asked.since === undefined ? undefined : readSince(asked.since);
  const after = asked.cursor === undefined ? undefined : readCursor(asked.cursor);
  // One extra version shows whether there is a next page.
  const entries = await store.typeHistory({ type, since, after, limit: count === 0 ? 0 : count + 1 }, options);
  const page = entries.slice(0, count);
  for (const version of page) if (version.kind === 'put') trace?.show(version.resource);
  const url = (cursor: string | undefined): string => {
    const parameters = new URLSearchParams({
      ...(asked.since === undefined ? {} : { _since: asked.since }),
      _count: String(count),
      ...(cursor === undefined ? {} : { _cursor: cursor }),
    });
    return `${baseUrl === undefined ? '' : `${baseUrl}/`}${type}/_history?${parameters.toString()}`;
  };
  const link: PageLink[] = [{ relation: 'self', url: url(asked.cursor) }];
  if (entries.length > count) link.push({ relation: 'next', url: url(cursorOf(page.at(-1)!)) });
  return {
    resourceType: 'Bundle',
    type: 'history',
    link,
    ...(page.length === 0 ? {} : { entry: page.map((one) => toEntry(type, one, baseUrl)) }),
  };
}

function toEntry(type: string, version: TypeHistoryEntry, baseUrl: string | undefined): HistoryBundleEntry {
  return toHistoryEntry({ type, id: version.id }, version, version.kind === 'put' && version.created, baseUrl);
}

function cursorOf({ lastUpdated, id, versionId }: VersionPosition): string {
  return [lastUpdated, id, versionId].join('/');
}

function readCursor(cursor: string): VersionPosition {
  const [lastUpdated = '', id, versionId, ...rest] = cursor.split('/');
  if (isInstant(lastUpdated) && isResourceId(id) && isResourceId(versionId) && rest.length === 0) {
    return { lastUpdated, id, versionId };
  }
  throw new FhirError('invalid', 'The cursor is not from a link of this service');
}

function isInstant(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}
