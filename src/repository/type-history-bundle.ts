import { notFound } from '../fhir/not-found.js';
import { isResourceId } from '../fhir/resource.js';
import { cursorText, foreignCursor, readCursor } from '../interactions/pages/cursor-text.js';
import type { TypeHistoryEntry, VersionPosition } from '../store/history.js';
import { type HistoryBundleEntry, toHistoryEntry } from './history-bundle.js';
import { pageOf, type PageLink } from '../fhir/page-links.js';
import { ShortPage } from '../store/text-budget.js';
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
  const question = JSON.stringify([type, '_history', asked.since ?? null]);
  const since = asked.since === undefined ? undefined : readSince(asked.since);
  const after = asked.cursor === undefined ? undefined : positionOf(readCursor(asked.cursor, store.caller, question));
  // One extra version shows whether there is a next page.
  const shortens = new ShortPage();
  const query = { type, since, after, limit: count === 0 ? 0 : count + 1, shortens };
  const entries = await store.typeHistory(query, options);
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
  if (entries.length > count || shortens.isCut)
    link.push({ relation: 'next', url: url(cursorText(contentOf(page.at(-1)!), store.caller, question)) });
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

function contentOf({ lastUpdated, id, versionId }: VersionPosition): readonly string[] {
  return [lastUpdated, id, versionId];
}

/** @throws FhirError `invalid` */
function positionOf(content: unknown): VersionPosition {
  if (!Array.isArray(content) || content.length !== 3) throw foreignCursor();
  const [lastUpdated, id, versionId] = content as unknown[];
  if (isInstant(lastUpdated) && isResourceId(id) && isResourceId(versionId)) return { lastUpdated, id, versionId };
  throw foreignCursor();
}

function isInstant(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}
