import { purgeBoundsOf, type PurgeRequest, type PurgeStep, type RemovalStep } from '../../store/removal.js';
import type { Holding, ProjectData } from './project-data.js';

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
