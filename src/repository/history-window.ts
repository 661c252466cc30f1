import type { DateInterval } from '../fhir/date.js';
import type { HistoryEntry, HistoryPage } from '../store/history.js';

/** The versions that a history is about. Instants in milliseconds since 1970. */
export interface HistoryPeriod {
  /** Only versions written at this instant or later. */
  readonly since: number | undefined;
  /** Only versions that were current at some moment of this interval. */
  readonly at: DateInterval | undefined;
}

/** Positions in the history of a resource, newest first: from `start` up to `end`, which is not in it. */
export interface HistoryWindow {
  readonly start: number;
  readonly end: number;
}

/** Reads versions of the resource, newest first. */
type ReadVersions = (page: { readonly offset: number; readonly limit: number }) => Promise<HistoryPage>;

/**
 * Finds the versions of a period. Versions of one resource never go back in time, so each end of the window takes one
 * call per halving of the history.
 *
 */
export async function findWindow(read: ReadVersions, { since, at }: HistoryPeriod): Promise<HistoryWindow> {
  const { total } = await read({ offset: 0, limit: 1 });
  const first = (isBefore: (time: number) => boolean): Promise<number> => firstPosition(read, total, isBefore);
  const start = at === undefined ? 0 : await first((time) => time < at.high);
  let end = since === undefined ? total : await first((time) => time < since);
  // The version of the beginning is the newest one that was written by then.
  if (at !== undefined) end = Math.min(end, 1 + (await first((time) => time <= at.low)));
  return { start, end: Math.max(start, Math.min(end, total)) };
}

/** Whether a version was written in the period, or may have been current in it. */
export function isWithin(version: HistoryEntry, { since, at }: HistoryPeriod): boolean {
  const time = Date.parse(version.lastUpdated);
  return (since === undefined || time >= since) && (at === undefined || time < at.high);
}

/** The first position whose version was written before an instant; `total` without one. */
async function firstPosition(read: ReadVersions, total: number, isBefore: (time: number) => boolean): Promise<number> {
  let [low, high] = [0, total];
  while (low < high) {
    const middle = (low + high) >> 1;
    const [entry] = (await read({ offset: middle, limit: 1 })).entries;
    if (entry === undefined || isBefore(Date.parse(entry.lastUpdated))) high = middle;
    else low = middle + 1;
  }
  return low;
}
