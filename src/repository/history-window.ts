import type { DateInterval } from '../fhir/date.js';
import type { HistoryEntry, HistoryPage } from '../store/history.js';

/** The versions that a history is about. Instants in milliseconds since 1970. */
export interface HistoryPeriod {
  /** Only versions written at this instant or later. */
  readonly since?: number | undefined;
  /** Only versions that were current at some moment of this interval. */
  readonly at?: DateInterval | undefined;
  /** Where a page begins or ends. */
  readonly edge?: HistoryEdge | undefined;
}

/** A version that a page begins after, or ends before; it may have been purged. */
export interface HistoryEdge {
  readonly side: 'after' | 'before';
  /** When it was written. Milliseconds since 1970. */
  readonly instant: number;
  /** How many versions were older when the link was made. */
  readonly older: number;
}

/** Positions in the history of a resource, newest first: from `start` up to `end`, which is not in it. */
export interface HistoryWindow {
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
export async function findWindow(read: ReadVersions, { since, at, edge }: HistoryPeriod): Promise<HistoryWindow> {
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
export function isWithin(version: HistoryEntry, { since, at, edge }: HistoryPeriod): boolean {
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
