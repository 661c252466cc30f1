import type { Ask } from '../ask.js';
import { readSet } from './bytes.js';
import { buildSegment, type BuiltSegment, type KnownParameters } from './build-segment.js';
import { forAll } from './evaluation.js';
import { mergeSegments } from './merge-segments.js';
import type { SegmentList, SegmentPort, WrittenResource } from './port.js';
import { PositionSet } from './position-set.js';
import { Segment } from './segment.js';
import { LoadedRows, type SegmentCache, withRows } from './segment-rows.js';

/** A segment, with its resources that were not written since. */
export interface LiveSegment {
  readonly id: string;
  readonly size: number;
  readonly live: PositionSet;
  /** Of a segment in memory. */
  readonly built?: BuiltSegment | undefined;
}

/**
 * The segments of a type as of some writes: those of its list, and small ones in memory for the writes since. Each write
 * makes the earlier version of its resource dead.
 *
 * Never changed: a later one is made from it by {@link after}, so a search that ended midway leaves nothing half done.
 */
export class TypeState {
  private constructor(
    readonly list: SegmentList,
    readonly written: ReadonlyMap<string, WrittenResource['stamp']>,
    readonly segments: readonly LiveSegment[],
  ) {}

  static of(list: SegmentList): TypeState {
    return new TypeState(list, new Map(), segmentsOf(list));
  }

  /** Whether each resource that was written before this state is among these: otherwise a write was rolled back. */
  isBefore(list: SegmentList, written: readonly WrittenResource[]): boolean {
    if (list.id !== this.list.id) return false;
    const ids = new Set(written.map(({ id }) => id));
    for (const id of this.written.keys()) if (!ids.has(id)) return false;
    return true;
  }

  /** The state after all writes to the type, which include those of this state. */
  *after(
    type: string,
    written: readonly WrittenResource[],
    knows: KnownParameters,
    cache: SegmentCache,
  ): Ask<SegmentPort, TypeState> {
    const later = written.filter(({ id, stamp }) => this.written.get(id) !== stamp);
    if (later.length === 0) return this;
    const ids = later.map(({ id }) => id);
    const before = yield* withoutIds(this.segments, ids, cache);
    const segments = yield* withSegment(before, yield* buildSegment(type, ids, knows), cache);
    const all = new Map(this.written);
    for (const { id, stamp } of later) all.set(id, stamp);
    return new TypeState(this.list, all, segments);
  }

  /** The segments for a search. @param rows have the rows of {@link builtRows} */
  open(rows: LoadedRows): readonly Segment[] {
    return openAll(this.segments, rows);
  }

  get builtRows(): ReadonlyMap<string, ReadonlyMap<string, Uint8Array>> {
    return builtRows(this.segments);
  }
}

/** The stored segments of a list. */
export function segmentsOf({ segments }: SegmentList): readonly LiveSegment[] {
  return segments.map(({ id, size, dead }) => {
    return { id, size, live: new PositionSet(size).fill().subtract(readSet(dead, size)) };
  });
}

/** The segments with the resources of some ids dead. */
export function* withoutIds(
  segments: readonly LiveSegment[],
  ids: readonly string[],
  cache: SegmentCache,
): Ask<SegmentPort, readonly LiveSegment[]> {
  const positions = yield* positionsOf(segments, ids, cache);
  return segments.map((segment, index) => without(segment, positions[index]!));
}

/** A segment with some positions dead. */
export function without(segment: LiveSegment, positions: readonly number[]): LiveSegment {
  if (!positions.some((position) => segment.live.has(position))) return segment;
  const live = segment.live.copy();
  for (const position of positions) live.delete(position);
  return { ...segment, live };
}

/** The positions of some ids in each segment, dead ones included. */
export function* positionsOf(
  segments: readonly LiveSegment[],
  ids: readonly string[],
  cache: SegmentCache,
): Ask<SegmentPort, readonly (readonly number[])[]> {
  const rows = new LoadedRows(cache, builtRows(segments));
  const opened = openAll(segments, rows);
  const found = opened.map((): number[] => []);
  for (let from = 0; from < ids.length; from += IDS_TOGETHER) {
    const some = ids.slice(from, from + IDS_TOGETHER);
    const positions = yield* withRows(rows, () =>
      forAll(opened, (segment) => forAll(some, (id) => segment.positionOf(id) ?? -1)),
    );
    for (const [index, own] of found.entries()) own.push(...positions[index]!.filter((position) => position >= 0));
  }
  return found;
}

/** Ids that are looked for between two pauses. */
const IDS_TOGETHER = 1_024;

/** The segments with one more in memory, which is merged with earlier ones in memory that are not much larger. */
function* withSegment(
  segments: readonly LiveSegment[],
  built: BuiltSegment | undefined,
  cache: SegmentCache,
): Ask<SegmentPort, readonly LiveSegment[]> {
  if (built === undefined) return segments;
  let last = whole(built);
  const kept = [...segments];
  for (;;) {
    const before = kept.at(-1);
    if (before?.built === undefined || before.live.count > 2 * last.size) break;
    kept.pop();
    const both = [before, last];
    const rows = new LoadedRows(cache, builtRows(both));
    if (before.live.isEmpty) continue;
    last = whole(yield* mergeSegments(openAll(both, rows)));
  }
  return [...kept, last];
}

function whole(built: BuiltSegment): LiveSegment {
  const { id, size } = built;
  return { id, size, live: new PositionSet(size).fill(), built };
}

export function openAll(segments: readonly LiveSegment[], rows: LoadedRows): readonly Segment[] {
  return segments.map(({ id, size, live }) => new Segment(id, size, live, rows));
}

function builtRows(segments: readonly LiveSegment[]): ReadonlyMap<string, ReadonlyMap<string, Uint8Array>> {
  return new Map(segments.flatMap(({ id, built }) => (built === undefined ? [] : [[id, built.rows] as const])));
}
