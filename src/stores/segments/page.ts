import { getOrCreate } from '../../platform/collections.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import { isHeldApart } from '../../search/criteria/parameters-of.js';
import type { PageEdge } from '../../store/guards.js';
import { compareOrders } from './value.js';
import { forAll } from './evaluation.js';
import type { PositionSet } from './position-set.js';
import { RunCursor } from './run-cursor.js';
import { SIZES } from './run-format.js';
import type { Segment } from './segment.js';

/** Members of a segment. */
export interface Members {
  readonly segment: Segment;
  readonly set: PositionSet;
}

/** A resource on a page. */
export interface Found {
  readonly segment: Segment;
  readonly position: number;
  readonly place: Place;
}

/** A place in an order: a value for each of its keys, null for none. The last one is an id. */
export type Place = readonly (string | number | null)[];

/** The keys that decide an order. Ids are unique, so keys after `_id` have no effect. */
export function decidingKeys(sort: readonly SortKey[]): readonly SortKey[] {
  const last = sort.findIndex(({ parameter }) => parameter === '_id');
  return last < 0 ? [...sort, { parameter: '_id', descending: false }] : sort.slice(0, last + 1);
}

/** The place of a position of the search. */
export function placeOf({ position: { values, id } }: PageEdge, keys: readonly SortKey[]): Place {
  return keys.map((_, index) => (index < values.length ? values[index]! : id));
}

/** Whether the runs of the segments give the order of `compareSubjects`. */
export function isOrdered(segments: readonly Segment[], keys: readonly SortKey[]): boolean {
  const others = keys.filter(({ parameter }) => !isHeldApart(parameter));
  return forAll(others, ({ parameter }) =>
    forAll(segments, (segment) => {
      const run = segment.run(parameter);
      return run === undefined || (!run.directory.hasCut && run.directory.partial.isEmpty);
    }).every(Boolean),
  ).every(Boolean);
}

/**
 * The first members in an order after a place, or the last ones before it, the nearest first. Members without a value
 * come last in either direction: the order of `compareSubjects`.
 *
 * @param keys as of {@link decidingKeys}
 * @param start undefined: the beginning, or the end
 * @throws NOT_LOADED
 */
export function membersInOrder(
  members: readonly Members[],
  keys: readonly SortKey[],
  start: Place | undefined,
  { backwards, skip, limit }: { readonly backwards: boolean; readonly skip: number; readonly limit: number },
): readonly Found[] {
  const walk = new Walk(backwards, skip, limit);
  walk.visit(members, keys, start, []);
  return walk.found;
}

class Walk {
  readonly found: Found[] = [];

  constructor(
    readonly backwards: boolean,
    private skip: number,
    readonly limit: number,
  ) {}

  /** Adds members in the order of the keys. @param place the values of the keys before, which all members share */
  visit(members: readonly Members[], keys: readonly SortKey[], start: Place | undefined, place: Place): void {
    const [key, ...rest] = keys as readonly [SortKey, ...SortKey[]];
    const some = members.filter(({ set }) => !set.isEmpty);
    if (this.#isFull || some.length === 0) return;
    if (key.parameter === '_id') return this.#visitIds(some, key, start?.[0], place);
    const first = start?.[0];
    const isAfterValues = first === null;
    const visitLacking = (): void => {
      this.visit(lacking(some, key), rest, isAfterValues ? start!.slice(1) : undefined, [...place, null]);
    };
    if (this.backwards && (first === undefined || isAfterValues)) visitLacking();
    if (this.backwards || !isAfterValues) this.#visitValues(some, keys, isAfterValues ? undefined : start, place);
    if (!this.backwards) visitLacking();
  }

  #visitValues(members: readonly Members[], keys: readonly SortKey[], start: Place | undefined, place: Place): void {
    const rest = keys.slice(1);
    const few: Group[] = [];
    let waiting = 0;
    for (const group of this.#groups(members, keys[0]!, start?.[0] ?? undefined)) {
      const count = countOf(group);
      if (start !== undefined && group.value === start[0]) {
        this.visit(group.members, rest, start.slice(1), [...place, group.value]);
      } else if (few.length === 0 && count <= this.skip) {
        this.skip -= count;
      } else if (count > SIZES.block) {
        this.#visitFew(few, rest, place);
        waiting = 0;
        this.visit(group.members, rest, undefined, [...place, group.value]);
      } else {
        few.push(group);
        waiting += count;
        if (waiting >= this.#left) {
          this.#visitFew(few, rest, place);
          waiting = 0;
        }
      }
      // The next value may have most of all members.
      if (this.#isFull) return;
    }
    this.#visitFew(few, rest, place);
  }

  /** PERF (scale): groups of few members are ordered by the other keys together, by one pass over the run of each key. */
  #visitFew(groups: Group[], rest: readonly SortKey[], place: Place): void {
    const nearest = ({ value, members }: Group): Group => {
      const [key] = rest as readonly [SortKey, ...SortKey[]];
      if (key.parameter !== '_id') return { value, members };
      return { value, members: members.map((one) => firstIds(one, this.#left, key.descending !== this.backwards)) };
    };
    const all = groups.splice(0).map(nearest);
    const known = forAll(rest, (key) =>
      valuesUnder(
        key,
        all.flatMap(({ members }) => members),
      ),
    );
    for (const { value, members } of all) {
      const ranked = members.flatMap(({ segment, set }) =>
        set.positions().map((position): Found => {
          const values = known.map((one) => one.get(segment)!.get(position) ?? null);
          return { segment, position, place: [...place, value, ...values] };
        }),
      );
      ranked.sort((a, b) => this.#compare(a, b, rest));
      for (const one of ranked) this.#push(one);
    }
  }

  /** Compares by the last keys. */
  #compare({ place: a }: Found, { place: b }: Found, keys: readonly SortKey[]): number {
    const sign = this.backwards ? -1 : 1;
    for (const [index, { descending }] of keys.entries()) {
      const [one, other] = [a[a.length - keys.length + index]!, b[b.length - keys.length + index]!];
      if (one === other) continue;
      if (one === null || other === null) return one === null ? sign : -sign;
      return sign * compareOrders(one, other) * (descending ? -1 : 1);
    }
    return 0;
  }

  get #isFull(): boolean {
    return this.found.length >= this.limit;
  }

  /** How many members are still needed, those to skip included. */
  get #left(): number {
    return this.limit + this.skip - this.found.length;
  }

  #push(one: Found): void {
    if (this.skip > 0) this.skip--;
    else if (!this.#isFull) this.found.push(one);
  }

  /** The members with each value, in order, beginning with a value: the runs of all segments, merged. */
  *#groups(members: readonly Members[], key: SortKey, first: string | number | undefined): Generator<Group> {
    const reverse = key.descending !== this.backwards;
    const cursors = forAll(members, ({ segment, set }) => {
      const run = segment.run(key.parameter);
      const parts = [...(run?.directory.parts.keys() ?? [])];
      return forAll(parts, (part) => {
        return { segment, cursor: new RunCursor(run!, part, set, key.descending, reverse, first) };
      });
    }).flat();
    for (;;) {
      let value: string | number | undefined;
      for (const { cursor } of cursors) {
        if (cursor.value === undefined) continue;
        if (value === undefined || compareOrders(cursor.value, value) * (reverse ? -1 : 1) < 0) value = cursor.value;
      }
      if (value === undefined) return;
      const sets = new Map<Segment, PositionSet>();
      forAll(cursors, ({ segment, cursor }) => {
        if (cursor.value === value) cursor.take(getOrCreate(sets, segment, () => segment.emptySet()));
      });
      yield { value, members: [...sets].map(([segment, set]) => ({ segment, set })) };
    }
  }

  /** Adds members by id: the ids of all segments, merged. */
  #visitIds(members: readonly Members[], key: SortKey, start: Place[number] | undefined, place: Place): void {
    // No resource lacks an id, so a place without one is after all.
    if (start === null && !this.backwards) return;
    const reverse = key.descending !== this.backwards;
    const cursors = forAll(members, ({ segment, set }) => {
      return new IdCursor(segment, set, reverse, start === null ? undefined : (start as string | undefined));
    });
    while (!this.#isFull) {
      let best: IdCursor | undefined;
      for (const cursor of cursors) {
        if (cursor.id === undefined) continue;
        if (best === undefined || (reverse ? cursor.id > best.id! : cursor.id < best.id!)) best = cursor;
      }
      if (best === undefined) return;
      this.#push({ segment: best.segment, position: best.position, place: [...place, best.id!] });
      best.next();
    }
  }
}

interface Group {
  readonly value: string | number;
  readonly members: readonly Members[];
}

function countOf({ members }: Group): number {
  return members.reduce((sum, { set }) => sum + set.count, 0);
}

/** The members with the first ids, or with the last ones. Positions are in the order of ids. */
function firstIds({ segment, set }: Members, count: number, reverse: boolean): Members {
  if (set.count <= count) return { segment, set };
  const first = segment.emptySet();
  const positions = set.positions();
  for (const position of reverse ? positions.slice(-count) : positions.slice(0, count)) first.add(position);
  return { segment, set: first };
}

/** The members without a value. */
function lacking(members: readonly Members[], { parameter }: SortKey): readonly Members[] {
  return forAll(members, ({ segment, set }) => {
    const directory = segment.run(parameter)?.directory;
    if (directory === undefined) return { segment, set };
    const without = set.copy().subtract(directory.present).unite(set.copy().intersect(directory.unordered));
    return { segment, set: without };
  });
}

/** The values of some members under a key, by one pass over its runs. */
function valuesUnder(
  key: SortKey,
  members: readonly Members[],
): ReadonlyMap<Segment, ReadonlyMap<number, string | number>> {
  const sets = new Map<Segment, PositionSet>();
  for (const { segment, set } of members) getOrCreate(sets, segment, () => segment.emptySet()).unite(set);
  const found = forAll([...sets], ([segment, set]) => {
    const values = new Map<number, string | number>();
    if (key.parameter === '_id') forAll(set.positions(), (one) => values.set(one, segment.idAt(one)));
    const run = key.parameter === '_id' ? undefined : segment.run(key.parameter);
    forAll([...(run?.directory.parts.keys() ?? [])], (part) => {
      const cursor = new RunCursor(run!, part, set, key.descending, false, undefined);
      while (cursor.value !== undefined && values.size < set.count) {
        const { value } = cursor;
        const taken = segment.emptySet();
        cursor.take(taken);
        for (const position of taken.positions()) values.set(position, value);
      }
    });
    return [segment, values] as const;
  });
  return new Map(found);
}

/** Visits the members of a segment by id, beyond a start. */
class IdCursor {
  position: number;
  /** Undefined after the last one. PERF (scale): it is compared with those of all other segments. */
  id: string | undefined;
  readonly #step: 1 | -1;

  constructor(
    readonly segment: Segment,
    readonly set: PositionSet,
    reverse: boolean,
    start: string | undefined,
  ) {
    this.#step = reverse ? -1 : 1;
    const at = start === undefined ? (reverse ? segment.size : 0) : segment.firstAt(start);
    const isThere = start !== undefined && at < segment.size && segment.idAt(at) === start;
    this.position = reverse || isThere ? at : at - 1;
    this.next();
  }

  next(): void {
    const { size } = this.segment;
    do this.position += this.#step;
    while (this.position >= 0 && this.position < size && !this.set.has(this.position));
    this.id = this.position >= 0 && this.position < size ? this.segment.idAt(this.position) : undefined;
  }
}
