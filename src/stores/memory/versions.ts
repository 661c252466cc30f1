import { timeWindowOf } from '../../store/guards.js';
import type { TypeHistoryEntry, TypeHistoryQuery } from '../../store/history.js';
import { deletionOf, purgeBoundsOf, type PurgeRequest, type PurgeStep, type RemovalStep } from '../../store/removal.js';
import type { CallTexts } from '../../store/text-budget.js';
import { firstPlace } from '../../platform/collections.js';
import { storedVersion } from './commit.js';
import type { ProjectData, TimelineEntry, Holding } from './project-data.js';

/** A page of the versions of a type, newest first: by instant, then by the order in which they were written. */
export function typeHistory(data: ProjectData, query: TypeHistoryQuery, texts: CallTexts): readonly TypeHistoryEntry[] {
  const { type, ids, after, past = false } = query;
  const { since, until, limit } = timeWindowOf(query);
  const timeline = ids === undefined ? data.timeline(type) : timelineOf(data, type, ids);
  const isKnown = after !== undefined && (ids === undefined || ids.includes(after.id));
  const last = isKnown
    ? data.holding(type, after.id)?.versions.find(({ versionId }) => versionId === after.versionId)
    : undefined;
  const sequence = last?.updated === until ? last.sequence : 0;
  const page: TypeHistoryEntry[] = [];
  for (let index = endOf(timeline, until) - 1; index >= 0 && page.length < limit; index--) {
    const { holding, version } = timeline[index]!;
    if (version.updated < since) break;
    if (version.updated === until && version.sequence >= sequence) continue;
    if (past && isCurrent(timeline[index]!)) continue;
    if (!texts.takes(version.bytes)) break;
    page.push(toEntry({ holding, version }));
  }
  return page;
}

function timelineOf(data: ProjectData, type: string, ids: readonly string[]): readonly TimelineEntry[] {
  const holdings = [...new Set(ids)].flatMap((id) => data.holding(type, id) ?? []);
  return holdings
    .flatMap((holding) => holding.versions.map((version) => ({ holding, version })))
    .sort((a, b) => a.version.updated - b.version.updated || a.version.sequence - b.version.sequence);
}

function isCurrent({ holding, version }: TimelineEntry): boolean {
  return version.resource !== undefined && holding.versions.at(-1) === version;
}

/** The number of versions up to the instant. */
function endOf(timeline: readonly TimelineEntry[], until: number): number {
  return firstPlace(timeline.length, (place) => timeline[place]!.version.updated <= until);
}

function toEntry({ holding, version }: TimelineEntry): TypeHistoryEntry {
  const { id, versions, erased } = holding;
  if (version.resource === undefined)
    return { kind: 'delete', id, ...deletionOf(version.versionId, version.updated, erased) };
  // The version before may have been purged.
  const position = versions.indexOf(version);
  const created = position === 0 ? version.versionId === '1' : versions[position - 1]!.resource === undefined;
  return { kind: 'put', id, created, ...storedVersion(version) };
}

/** Removes all earlier versions that the request covers, in one step. */
export function purgeHistory(data: ProjectData, request: PurgeRequest): PurgeStep {
  const { replacedBefore, keep } = purgeBoundsOf(request);
  const counts = [...data.holdings(request.type)].map(
    (holding) => [holding, purgeable(holding, replacedBefore, keep)] as const,
  );
  data.removeOldest(counts.filter(([, count]) => count > 0));
  return { versions: counts.reduce((sum, [, count]) => sum + count, 0) };
}

/** How many of the oldest versions may go. */
function purgeable({ versions }: Holding, replacedBefore: number, keep: number): number {
  const late = versions.slice(1).findIndex(({ updated }) => updated >= replacedBefore);
  const replaced = late === -1 ? versions.length - 1 : late;
  return Math.max(0, Math.min(replaced, versions.length - keep));
}

/** What removing a project removes. */
export function removalOf(data: ProjectData): RemovalStep {
  const holdings = [...data.holdings()];
  const versions = holdings.reduce((sum, holding) => sum + holding.versions.length, 0);
  return { resources: holdings.length, versions, done: true };
}
