import { partWith } from '../../sql/pages/value-range.js';
import { allOf, sql, type Sql, type SqlValue, unionAll } from '../../sql/sql.js';
import { arrayText } from '../array.js';
import type { OpenParts } from '../skip/order-parts.js';
import type { OrderIndex } from './order-index.js';
import type { Stretch } from './stretch.js';
import { TUNING } from './tuning.js';

/** The parts of an order that are yet to be read, in the direction of the walk. */
export interface PartsLeft {
  /** Those that can have matches. */
  readonly open: readonly number[];
  /** Nearly all of the next parts can have matches: a walk over all of them takes less time. */
  areDense(): boolean;
  /** The first of these that are read together. None: a large part is next, which is walked. */
  next(size: number): readonly number[];
  after(size: number): PartsLeft;
  /** The stretch from the first of them on. */
  rest(index: OrderIndex, stretch: Stretch): Stretch;
}

/**
 * The parts with values from a value on.
 *
 * @param at the value at which the walk has ended @param isDone nothing with it is left
 */
export function partsBeyond(known: OpenParts, at: SqlValue, isDone: boolean, falling: boolean): PartsLeft {
  const { starts, open } = known;
  const first = partWith(starts, at);
  const here = { part: first, isDone };
  const parts = Array.from({ length: falling ? first + 1 : starts.length - first }, (_, place) =>
    falling ? first - place : first + place,
  );
  return left(
    known,
    parts.filter((part) => open[part] === 1),
    here,
    falling,
  );
}

function left(
  known: OpenParts,
  open: readonly number[],
  here: { readonly part: number; readonly isDone: boolean },
  falling: boolean,
): PartsLeft {
  const { starts, large } = known;
  const first = open[0] ?? 0;
  return {
    open,
    areDense() {
      const last = open[TUNING.denseParts - 1];
      return last !== undefined && Math.abs(last - first) < TUNING.denseParts * TUNING.denseSpan;
    },
    next(size) {
      // What is left of a part whose value is done is little.
      const end = open.findIndex((part) => large.has(part) && !(here.isDone && part === here.part));
      return open.slice(0, end < 0 ? size : Math.min(end, size));
    },
    after: (size) => left(known, open.slice(size), here, falling),
    rest({ value }, stretch) {
      const bound = falling ? starts[first + 1] : starts[first];
      // Where the walk has not left the part, its own start holds.
      if (first === here.part || bound === undefined) return stretch;
      return { ...stretch, start: sql`${value} ${falling ? sql`<` : sql`>=`} ${bound}` };
    },
  };
}

/** The keys of the resources in some parts of an order, within a stretch. */
export function inParts(index: OrderIndex, stretch: Stretch, { starts }: OpenParts, parts: readonly number[]): Sql {
  const { from, where, key, value, type } = index;
  const within = [where, stretch.start, stretch.end];
  const spans = spansOf(parts);
  const isClosed = ([first, last]: Span): boolean => first > 0 && last + 1 < starts.length;
  const open = spans
    .filter((span) => !isClosed(span))
    .map(([first, last]) => {
      const low = first > 0 ? [sql`${value} >= ${starts[first]!}`] : [];
      const high = last + 1 < starts.length ? [sql`${value} < ${starts[last + 1]!}`] : [];
      return sql`SELECT ${key} FROM ${from} WHERE ${allOf([...within, ...low, ...high])}`;
    });
  const closed = spans.filter(isClosed);
  if (closed.length === 0) return unionAll(open);
  const lows = arrayText(closed.map(([first]) => starts[first]!));
  const highs = arrayText(closed.map(([, last]) => starts[last + 1]!));
  const between = sql`${value} >= s.low AND ${value} < s.high`;
  const each = sql`SELECT e.key FROM unnest(${lows}::${type}[], ${highs}::${type}[]) s(low, high)
    CROSS JOIN LATERAL (SELECT ${key} AS key FROM ${from} WHERE ${allOf([...within, between])} OFFSET 0) e`;
  return unionAll([each, ...open]);
}

type Span = readonly [first: number, last: number];

/** Neighbors are one span. */
function spansOf(parts: readonly number[]): readonly Span[] {
  const spans: Span[] = [];
  for (const part of parts.toSorted((a, b) => a - b)) {
    const previous = spans.at(-1);
    if (previous?.[1] === part - 1) spans[spans.length - 1] = [previous[0], part];
    else spans.push([part, part]);
  }
  return spans;
}
