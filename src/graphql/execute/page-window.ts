import type { SearchPosition } from '../../search/evaluate/sort.js';
import type { CursorPart } from '../plan/plan.js';

/**
 * The part of all matches that a page holds: so many, from an offset, after a position or before one.
 *
 * ```text
 * matches   a b c d e f g      pages of 2
 * opening   [a b]              offset 0
 * next          [c d]          after b, offset 2
 * last              [f g]      before the end
 * ```
 */
export interface PageWindow {
  /** Most matches of a page; undefined: all matches are one page. */
  readonly count: number | undefined;
  /** Matches before the page; null where nobody counted. */
  readonly offset: number | null;
  /** The page begins after this position. */
  readonly after: SearchPosition | undefined;
  /** The page ends before this position. */
  readonly before: SearchPosition | undefined;
}

/** A page as a search gave it. */
export interface WindowedPage<Match> {
  readonly window: PageWindow;
  /** Without the match that only tells whether something follows. */
  readonly matches: readonly Match[];
  /** Whether there was one more match, on the far side as seen from where the page was bound. */
  readonly more: boolean;
  /** The number of all matches; undefined where nobody counted. */
  readonly total: number | undefined;
}

/** How positions are made. */
export interface MatchOrder<Match> {
  position(match: Match): SearchPosition;
  /** Behind all matches. */
  readonly end: SearchPosition;
}

/** The window that arguments ask for. */
export function openingWindow(count: number | undefined, offset: number): PageWindow {
  return { count, offset, after: undefined, before: undefined };
}

/** What a store is asked for. A position says where the page is, so nothing is left out before it. */
export function boundsOf({
  offset,
  after,
  before,
}: PageWindow): Pick<PageWindow, 'after' | 'before'> & { offset: number } {
  const isPositioned = after !== undefined || before !== undefined;
  return { offset: isPositioned ? 0 : (offset ?? 0), after, before };
}

/** The page that a search for a window gave, one match more than the page holds at most. */
export function cutPage<Match>(
  window: PageWindow,
  found: { readonly matches: readonly Match[]; readonly total?: number | undefined },
): WindowedPage<Match> {
  const { count, before } = window;
  const { matches, total } = found;
  if (count === undefined || matches.length <= count) return { window, matches, more: false, total };
  return { window, matches: before === undefined ? matches.slice(0, count) : matches.slice(-count), more: true, total };
}

/** The window of another page; undefined where there is none: without `_count`, all matches are one page. */
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
    // A page that ends before a position was come to from the other side; one without matches stands before all of them.
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

/** Nothing to page through, as far as this page can tell. */
function isEmpty({ window: { after, before, offset }, matches }: WindowedPage<never>): boolean {
  return matches.length === 0 && after === undefined && before === undefined && offset === 0;
}

/** The last matches, as many as a page holds. */
function lastWindow({ total }: WindowedPage<never>, count: number, { end }: MatchOrder<never>): PageWindow {
  const offset = total === undefined ? null : Math.max(0, total - count);
  return { count, offset, after: undefined, before: end };
}

function shifted(offset: number | null, by: number): number | null {
  return offset === null ? null : Math.max(0, offset + by);
}
