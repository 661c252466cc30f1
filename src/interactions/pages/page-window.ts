import type { SearchPosition } from '../../search/evaluate/sort.js';

/** A page beside the one that a search returned. */
export type CursorPart = 'first' | 'previous' | 'next' | 'last';

/**
 * The part of all matches on a page: a number of matches from an offset, after a position or before one.
 *
 * ```text
 * matches   a b c d e f g      pages of 2
 * opening   [a b]              offset 0
 * next          [c d]          after b, offset 2
 * last              [f g]      before the end
 * ```
 */
export interface PageWindow {
  /** Maximum number of matches; undefined: all matches are one page. */
  readonly count: number | undefined;
  /** Number of matches before the page; null if unknown. */
  readonly offset: number | null;
  /** The page begins after this position. */
  readonly after: SearchPosition | undefined;
  /** The page ends before this position. */
  readonly before: SearchPosition | undefined;
}

/** A page as returned by a search. */
export interface WindowedPage<Match> {
  readonly window: PageWindow;
  /** Without the extra match that shows whether another page follows. */
  readonly matches: readonly Match[];
  /** Whether there was one more match, on the side away from the bounding position. */
  readonly more: boolean;
  /** The number of all matches; undefined if not counted. */
  readonly total: number | undefined;
}

/** Creates positions. */
export interface MatchOrder<Match> {
  position(match: Match): SearchPosition;
  /** The position after all matches. */
  readonly end: SearchPosition;
}

/** The window that the arguments request. */
export function openingWindow(count: number | undefined, offset: number): PageWindow {
  return { count, offset, after: undefined, before: undefined };
}

/** The bounds passed to the store. A position determines the page, so no offset is applied. */
export function boundsOf({
  offset,
  after,
  before,
}: PageWindow): Pick<PageWindow, 'after' | 'before'> & { offset: number } {
  const isPositioned = after !== undefined || before !== undefined;
  return { offset: isPositioned ? 0 : (offset ?? 0), after, before };
}

/** Creates the page from the result of a search for up to one extra match. */
export function cutPage<Match>(
  window: PageWindow,
  found: { readonly matches: readonly Match[]; readonly total?: number | undefined },
): WindowedPage<Match> {
  const { count, before } = window;
  const { matches, total } = found;
  if (count === undefined || matches.length <= count) return { window, matches, more: false, total };
  return { window, matches: before === undefined ? matches.slice(0, count) : matches.slice(-count), more: true, total };
}

/** The window of another page; undefined if no such page exists: without `_count`, all matches are one page. */
export function neighbourOf<Match>(
  part: CursorPart,
  page: WindowedPage<Match>,
  order: MatchOrder<Match>,
): PageWindow | undefined {
  const { count } = page.window;
  return count === undefined || count === 0 ? undefined : NEIGHBOURS[part](page as WindowedPage<never>, count, order);
}

type Neighbour = (page: WindowedPage<never>, count: number, order: MatchOrder<never>) => PageWindow | undefined;

const NEIGHBOURS: { readonly [Part in CursorPart]: Neighbour } = {
  first: (page, count) => (isEmpty(page) ? undefined : openingWindow(count, 0)),
  last: (page, count, order) => (isEmpty(page) ? undefined : lastWindow(page, count, order)),
  next({ window, matches, more }, count, order) {
    const { before, offset } = window;
    const last = matches.at(-1);
    // A page that ends before a position was reached backwards; if it has no matches, it precedes all of them.
    if (before !== undefined && last === undefined) return openingWindow(count, 0);
    const follows = before === undefined ? more : before.id !== order.end.id;
    if (!follows) return undefined;
    return { count, offset: shifted(offset, matches.length), after: order.position(last!), before: undefined };
  },
  previous(page, count, order) {
    const { window, matches, more } = page;
    const { after, before, offset } = window;
    const precedes = before === undefined ? after !== undefined || offset !== 0 : more;
    if (!precedes) return undefined;
    const [first] = matches;
    if (first === undefined) return lastWindow(page, count, order);
    return { count, offset: shifted(offset, -count), after: undefined, before: order.position(first) };
  },
};

/** True if this page shows that there is no other. */
function isEmpty({ window: { after, before, offset }, matches }: WindowedPage<never>): boolean {
  return matches.length === 0 && after === undefined && before === undefined && offset === 0;
}

function lastWindow({ total }: WindowedPage<never>, count: number, { end }: MatchOrder<never>): PageWindow {
  const offset = total === undefined ? null : Math.max(0, total - count);
  return { count, offset, after: undefined, before: end };
}

function shifted(offset: number | null, by: number): number | null {
  return offset === null ? null : Math.max(0, offset + by);
}
