import { randomSecret } from '../../platform/crypto.js';
import { type Ask, ask } from '../ask.js';
import {
  buildSegment,
  type BuiltSegment,
  type KnownParameters,
  READ_TOGETHER,
  SegmentWriter,
} from './build-segment.js';
import { setBytes } from './bytes.js';
import { type FingerprintsOf, forAll } from './evaluation.js';
import { mergeSegments } from './merge-segments.js';
import {
  FORMAT,
  isComplete,
  type ListedSegment,
  MAX_SIZE,
  type SegmentChange,
  type SegmentList,
  type SegmentPort,
  type StoredState,
  type WrittenResource,
} from './port.js';
import { PositionSet } from './position-set.js';
import type { Segment } from './segment.js';
import { LoadedRows, SegmentCache, withRows } from './segment-rows.js';
import { type LiveSegment, openAll, positionsOf, segmentsOf, without, withoutIds } from './type-state.js';

/** Only tests change it. */
export const SEGMENT_TUNING = {
  /**
   * Fewest resources of a new segment. Types with fewer have no segments, unless a search of a larger type leads to them:
   * without them, a chain is tested per resource, and counting the Observations of 1,200 women among 60,000 took 330 ms, and
   * 1 ms with segments. So many writes since the list was made become a segment.
   */
  minSize: 256,
  /** Most resources of a new segment. */
  size: MAX_SIZE,
};

/** How far the segments of a type are. */
export interface Progress {
  /** The id of the list; undefined if there is none. */
  readonly list: string | undefined;
  /** Whether all resources are in segments, or written since. */
  readonly isComplete: boolean;
  /** Writes since, up to a limit. */
  readonly written: number;
  /** Resources, up to a limit. */
  readonly resources: number;
}

/** When work on segments is due. */
interface UpkeepRules {
  /** The resources of a type that gets a list. */
  readonly least: number;
  /** The writes that become a segment. */
  readonly flushFrom: number;
  readonly merges: boolean;
  /** As of {@link SegmentUpkeep.build}. */
  readonly mostOf: () => number;
}

/**
 * Keeps the stored segments of a project up to date. Each step ends with one change, which another process may have
 * made impossible: then it is still to do. A step that is abandoned leaves nothing.
 */
export class SegmentUpkeep {
  /** @param cache may be the one of searches */
  constructor(
    readonly fingerprints: FingerprintsOf,
    readonly cache: SegmentCache,
  ) {}

  /** The next step on a type. @returns `done` if nothing was left to do */
  *next(
    type: string,
    { list, isComplete, written, resources }: Progress,
    rules: UpkeepRules,
  ): Ask<SegmentPort, 'more' | 'done'> {
    if (list === undefined) {
      if (resources < rules.least) return 'done';
      yield* this.begin(type);
    } else if (!isComplete) yield* this.build(type, rules.mostOf);
    else if (written >= rules.flushFrom) yield* this.flush(type);
    else if (!rules.merges || !((yield* this.refresh(type)) || (yield* this.merge(type)))) return 'done';
    return 'more';
  }

  /** Makes the list of a type, from which on its writes are noted. {@link build} adds the segments. */
  begin(type: string): Ask<SegmentPort, boolean> {
    return write(type, undefined, unbuiltList(), [], [], []);
  }

  /**
   * Builds the list of a type that has none, or continues it: one segment per call.
   *
   * @param mostOf the most resources of the segment; asked again after each part, so that a build can end early
   * @returns whether the list is complete
   */
  *build(type: string, mostOf: () => number = () => MAX_SIZE): Ask<SegmentPort, boolean> {
    const { list: stored, written } = yield* stateOf(type);
    const list = stored?.format === FORMAT ? stored : undefined;
    if (list !== undefined && list.builtTo === undefined) return true;
    const most = mostOf();
    const writer = new SegmentWriter(most, this.fingerprints(type));
    let last = list?.builtTo;
    let isLast = false;
    for (let size = most; !isLast && writer.ids.length < size; size = Math.min(most, mostOf())) {
      const [after, count] = [last, Math.min(READ_TOGETHER, size - writer.ids.length)];
      const resources = yield* ask((port: SegmentPort) => port.resourcesAfter(type, after, count));
      for (const one of resources) writer.add(one);
      last = resources.at(-1)?.id ?? last;
      isLast = resources.length < count;
    }
    const built = writer.ids.length === 0 ? [] : [yield* writer.finish()];
    const next: SegmentList = {
      ...newList([...(list?.segments ?? []), ...built.map(listedOf)]),
      ...(!isLast && { builtTo: last }),
    };
    const old = list === undefined ? (stored?.segments ?? []).map(({ id }) => id) : [];
    // The first segment is as of all writes before it. Later ones may be older than a write to an earlier resource.
    const covered = list === undefined ? written : [];
    return (yield* write(type, stored, next, built, old, covered)) && isLast;
  }

  /**
   * Makes a stored segment of the writes since the list was made.
   *
   * @returns whether there are none left
   */
  *flush(type: string): Ask<SegmentPort, boolean> {
    const { list, written } = yield* stateOf(type);
    if (!isComplete(list)) return false;
    if (written.length === 0) return true;
    const some = written.slice(0, MAX_SIZE);
    const ids = some.map(({ id }) => id);
    const built = yield* buildSegment(type, ids, this.fingerprints(type));
    const alive = yield* withoutIds(segmentsOf(list), ids, this.cache);
    const next = newList([...alive, ...listOf(built)].map(listedOf));
    const isWritten = yield* write(type, list, next, listOf(built), [], some);
    return isWritten && some.length === written.length;
  }

  /**
   * Merges small segments, or rewrites one that is mostly dead. Each resource is rewritten a few times in all, because
   * segments are merged with those of about their size.
   *
   * @returns whether there was something to merge
   */
  *merge(type: string): Ask<SegmentPort, boolean> {
    const { list } = yield* stateOf(type);
    if (!isComplete(list)) return false;
    const chosen = toMerge(segmentsOf(list));
    if (chosen.length === 0) return false;
    const ids = chosen.map(({ id }) => id);
    const built = listOf(yield* merged(chosen));
    const kept = list.segments.filter(({ id }) => !ids.includes(id));
    const next = { ...list, id: randomSecret(), segments: [...kept, ...built.map(listedOf)] };
    yield* write(type, list, next, built, ids, []);
    return true;
  }

  /**
   * Makes the segments that {@link erase} needs, before the transaction that erases. It takes long, with pauses. Writes
   * and changes of the list in between do no harm.
   */
  *prepareErase(type: string, ids: readonly string[]): Ask<SegmentPort, PreparedErasure> {
    const { list } = yield* stateOf(type);
    const prepared = new Map<string, Remainder>();
    if (list?.format !== FORMAT) return prepared;
    const segments = segmentsOf(list);
    const erased = yield* positionsOf(segments, ids, this.cache);
    for (const [index, segment] of segments.entries()) {
      if (erased[index]!.length > 0) prepared.set(segment.id, yield* remainderOf(without(segment, erased[index]!)));
    }
    return prepared;
  }

  /**
   * Removes all traces of resources: replaces the segments that hold any version of them. It belongs into the
   * transaction that removes the resources, after them. If a resource is to stay, without its earlier versions, the
   * store notes it as written.
   *
   * @param prepared for the same ids. A segment that is missing there is made now
   * @returns false if another process changed the list in between
   */
  *erase(type: string, ids: readonly string[], prepared: PreparedErasure = new Map()): Ask<SegmentPort, boolean> {
    const { list } = yield* stateOf(type);
    if (list === undefined) return true;
    if (list.format !== FORMAT) {
      // Built again from the beginning.
      const dropped = list.segments.map(({ id }) => id);
      return yield* write(type, list, unbuiltList(), [], dropped, []);
    }
    const segments = segmentsOf(list);
    const erased = yield* positionsOf(segments, ids, this.cache);
    const next: ListedSegment[] = [];
    const added: BuiltSegment[] = [];
    const dropped: string[] = [];
    for (const [index, segment] of segments.entries()) {
      if (erased[index]!.length === 0) {
        next.push(list.segments[index]!);
        continue;
      }
      dropped.push(segment.id);
      const left = without(segment, erased[index]!);
      const { of, built } = prepared.get(segment.id) ?? (yield* remainderOf(left));
      if (built === undefined) continue;
      added.push(built);
      next.push(listedOf({ ...built, live: left.live.placesIn(of) }));
    }
    // A new id in any case, so that no other process stores a segment that it builds of earlier reads.
    return yield* write(type, list, { ...list, id: randomSecret(), segments: next }, added, dropped, []);
  }

  /**
   * Builds a segment again that was built with other definitions of search parameters. Until then, searches by these
   * parameters test each of its resources.
   *
   * @returns whether there was one
   */
  *refresh(type: string): Ask<SegmentPort, boolean> {
    const { list } = yield* stateOf(type);
    if (list?.format !== FORMAT) return false;
    const knows = this.fingerprints(type);
    const stored = segmentsOf(list);
    const rows = new LoadedRows(this.cache);
    const opened = openAll(stored, rows);
    const headers = yield* withRows(rows, () => forAll(opened, (segment) => segment.header));
    const index = headers.findIndex((one) => !isEqual(one.knows, knows));
    if (index < 0) return false;
    const { id } = stored[index]!;
    const built = listOf(yield* buildSegment(type, yield* liveIds(opened[index]!), knows));
    const kept = list.segments.filter((one) => one.id !== id);
    const next = { ...list, id: randomSecret(), segments: [...kept, ...built.map(listedOf)] };
    yield* write(type, list, next, built, [id], []);
    return true;
  }

  /**
   * Builds the segments of a type again and compares them.
   *
   * @returns the ids of segments whose rows differ
   */
  *verify(type: string): Ask<SegmentPort, readonly string[]> {
    const { list, written } = yield* stateOf(type);
    if (list?.format !== FORMAT) return [];
    const differing: string[] = [];
    const ids = written.map(({ id }) => id);
    for (const stored of yield* withoutIds(segmentsOf(list), ids, this.cache)) {
      if (stored.live.isEmpty) continue;
      const [segment] = openAll([stored], new LoadedRows(new SegmentCache(0))) as [Segment];
      const { knows } = yield* withRows(segment.rows, () => segment.header);
      // What other definitions made is built again soon.
      if (!isEqual(knows, this.fingerprints(type))) continue;
      const merged = yield* mergeSegments([segment]);
      const built = yield* buildSegment(type, yield* liveIds(segment), knows);
      if (built === undefined || !isSame(merged, built)) differing.push(stored.id);
    }
    return differing;
  }
}

/** New segments in place of those that hold resources to be erased, by the ids of these. */
export type PreparedErasure = ReadonlyMap<string, Remainder>;

/** A segment of some resources of an older segment. */
interface Remainder {
  /** The positions of the resources in the older segment. */
  readonly of: PositionSet;
  /** Undefined if no resource is left. */
  readonly built: BuiltSegment | undefined;
}

/** The live resources of a segment, as a segment of their own. */
function* remainderOf(segment: LiveSegment): Ask<SegmentPort, Remainder> {
  return { of: segment.live, built: yield* merged([segment]) };
}

/** Merges the live resources of segments. @returns undefined if no resource is live */
function* merged(sources: readonly LiveSegment[]): Ask<SegmentPort, BuiltSegment | undefined> {
  const some = sources.filter(({ live }) => !live.isEmpty);
  return some.length === 0 ? undefined : yield* mergeSegments(openAll(some, new LoadedRows(new SegmentCache(0))));
}

function* stateOf(type: string): Ask<SegmentPort, StoredState> {
  return (yield* ask((port: SegmentPort) => port.states([type])))[0]!;
}

/** @param before the list that the other one replaces */
function* write(
  type: string,
  before: SegmentList | undefined,
  list: SegmentList,
  built: readonly BuiltSegment[],
  dropped: readonly string[],
  covered: readonly WrittenResource[],
): Ask<SegmentPort, boolean> {
  const added = new Map(built.map(({ id, rows }) => [id, rows]));
  const change: SegmentChange = { expected: before?.id, list, added, dropped, covered };
  return yield* ask((port: SegmentPort) => port.write(type, change));
}

function listedOf({ id, size, live }: Omit<BuiltSegment, 'rows'> & { readonly live?: PositionSet }): ListedSegment {
  const dead = new PositionSet(size);
  if (live !== undefined) dead.fill().subtract(live);
  return { id, size, dead: setBytes(dead) };
}

/**
 * The segments to merge next: the smallest ones of similar size together, or one that is mostly dead; none if there are
 * none.
 */
function toMerge(segments: readonly LiveSegment[]): readonly LiveSegment[] {
  const sorted = segments.map((segment) => ({ segment, count: segment.live.count })).sort((a, b) => a.count - b.count);
  for (const [index, { segment, count }] of sorted.entries()) {
    if (2 * count < segment.size) return [segment];
    const together = [segment];
    let sum = count;
    for (const next of sorted.slice(index + 1)) {
      if (next.count > SIMILAR * Math.max(1, sum) || sum + next.count > MAX_SIZE) break;
      together.push(next.segment);
      sum += next.count;
    }
    if (together.length > 1) return together;
  }
  return [];
}

/** Segments are merged with one of at most so many times their size. */
const SIMILAR = 4;

function* liveIds(segment: Segment): Ask<SegmentPort, readonly string[]> {
  const ids = yield* withRows(segment.rows, () => segment.ids());
  return segment.live.positions().map((position) => ids[position]!);
}

function listOf<One>(one: One | undefined): readonly One[] {
  return one === undefined ? [] : [one];
}

function newList(segments: readonly ListedSegment[]): SegmentList {
  return { id: randomSecret(), format: FORMAT, segments };
}

/** A list in which no resource is in a segment yet. */
function unbuiltList(): SegmentList {
  return { ...newList([]), builtTo: '' };
}

function isEqual(one: KnownParameters, other: KnownParameters): boolean {
  const codes = Object.keys(one);
  return codes.length === Object.keys(other).length && codes.every((code) => one[code] === other[code]);
}

function isSame(one: BuiltSegment, other: BuiltSegment): boolean {
  if (one.rows.size !== other.rows.size) return false;
  return [...one.rows].every(([name, bytes]) => {
    const same = other.rows.get(name);
    return same !== undefined && Buffer.compare(bytes, same) === 0;
  });
}
