import { compareTexts } from '../../platform/texts.js';
import { setBytes } from './bytes.js';
import { PositionSet } from './position-set.js';
import {
  directoryBytes,
  directoryName,
  LARGEST,
  type PartEntries,
  positionsBytes,
  rowName,
  type RunPart,
  setName,
  SIZES,
  SMALLEST,
  valuesBytes,
} from './run-format.js';
import { compareOrders, isCut, isInterval, type RunKind } from './value.js';

/** Receives rows by their names. */
export type RowSink = Map<string, Uint8Array>;

/**
 * Makes the rows of a run from entries in any order: those of index rows, or those of other segments. The same entries
 * give the same bytes.
 */
export class RunBuilder {
  readonly present: PositionSet;
  readonly ordered: PositionSet;
  readonly partial: PositionSet;
  readonly #qualifiers = new Numbering<string>();
  readonly #values = new Numbering<string | number>();
  // The entries in columns, because there are millions. A tag is a position and a mark.
  readonly #tags: number[] = [];
  readonly #qualifierOf: number[] = [];
  readonly #valueOf: number[] = [];
  readonly #highs: number[] = [];
  /** Of the resource that was added last. */
  #smallest: Extreme = NO_EXTREME;
  #largest: Extreme = NO_EXTREME;

  /** @param capacity most positions of the segment */
  constructor(
    readonly kind: RunKind,
    readonly isPair: boolean,
    capacity: number,
  ) {
    this.present = new PositionSet(capacity);
    this.ordered = new PositionSet(capacity);
    this.partial = new PositionSet(capacity);
  }

  /**
   * Adds a value of a resource, and marks the smallest and the largest. The values of a resource follow each other.
   *
   * @param order what the value is ordered by; undefined if it has no order, such as a token without a code
   */
  addValue(position: number, qualifier: string, value: string | number, high: number, order?: string | number): void {
    this.present.add(position);
    let mark = 0;
    if (order !== undefined) {
      const extreme = { entry: this.#tags.length, order };
      const isFirst = !this.ordered.has(position);
      this.ordered.add(position);
      if (isFirst || compareOrders(order, this.#smallest.order) < 0) {
        if (!isFirst) this.#tags[this.#smallest.entry]! -= SMALLEST;
        this.#smallest = extreme;
        mark += SMALLEST;
      }
      if (isFirst || compareOrders(order, this.#largest.order) > 0) {
        if (!isFirst) this.#tags[this.#largest.entry]! -= LARGEST;
        this.#largest = extreme;
        mark += LARGEST;
      }
    }
    this.add(position, qualifier, value, high, mark);
  }

  /** Adds an entry: a text, or an interval from a value to `high`. */
  add(position: number, qualifier: string, value: string | number, high: number, mark: number): void {
    this.#tags.push(position * MARKS + mark);
    this.#qualifierOf.push(this.#qualifiers.of(qualifier));
    // Zero has one form.
    this.#valueOf.push(this.#values.of(typeof value === 'number' ? value + 0 : value));
    this.#highs.push(high);
  }

  /** Writes the run under a name. @param size positions of the segment */
  *finish(run: string, size: number, rows: RowSink): Generator<undefined, void> {
    const { kind, isPair } = this;
    const [present, ordered, partial] = [this.present, this.ordered, this.partial].map((set) => set.first(size));
    const qualifiers = this.#qualifiers.all;
    const sorted = [...qualifiers.keys()].sort((a, b) => compareTexts(qualifiers[a]!, qualifiers[b]!));
    const counts = countsOf(this.#qualifierOf, qualifiers.length);
    const rare = sorted.filter((one) => counts[one]! < SIZES.block);
    const groups = sorted.filter((one) => counts[one]! >= SIZES.block).map((one) => [one]);
    if (rare.length > 0) groups.push(rare);
    const written: RunPart[] = [];
    for (const [part, entries] of (yield* this.#partsOf(groups, counts, yield* this.#sorted(sorted))).entries()) {
      const qualifier = groups[part] === rare ? undefined : qualifiers[groups[part]![0]!];
      written.push(yield* writePart(run, kind, { part, qualifier, size }, entries, rows));
    }
    const directory = {
      kind,
      isPair,
      hasCut: this.#values.all.some((value) => typeof value === 'string' && isCut(value)),
      present: present!,
      unordered: present!.copy().subtract(ordered!),
      partial: partial!,
      qualifiers: rare.map((one) => qualifiers[one]!),
      parts: written,
    };
    rows.set(directoryName(run), directoryBytes(directory));
  }

  /** The numbers of the entries by value, tag, end and qualifier. @param qualifiers their numbers in order */
  *#sorted(qualifiers: readonly number[]): Generator<undefined, Uint32Array> {
    const [values, valueOf, tags, highs] = [this.#values.all, this.#valueOf, this.#tags, this.#highs];
    // Values are numbered, so the entries of each value need only be counted.
    const next = countsOf(valueOf, values.length);
    let end = 0;
    for (const one of yield* sortInTurns([...values.keys()], (a, b) => compareOrders(values[a]!, values[b]!))) {
      const start = end;
      end += next[one]!;
      next[one] = start;
    }
    const order = new Uint32Array(end);
    for (let entry = 0; entry < end; entry++) {
      if (entry % IN_TURN === 0) yield;
      order[next[valueOf[entry]!]!++] = entry;
    }
    const ranks = new Uint32Array(qualifiers.length);
    for (const [rank, one] of qualifiers.entries()) ranks[one] = rank;
    const compare = (a: number, b: number): number =>
      tags[a]! - tags[b]! || highs[a]! - highs[b]! || ranks[this.#qualifierOf[a]!]! - ranks[this.#qualifierOf[b]!]!;
    for (let from = 0, sinceTurn = 0; from < end;) {
      const to = next[valueOf[order[from]!]!]!;
      sinceTurn += to - from;
      if (sinceTurn >= IN_TURN) {
        sinceTurn = 0;
        yield;
      }
      // PERF (scale): only a merge, or a resource with a value twice, brings the entries of a value in another order.
      let at = from + 1;
      while (at < to && compare(order[at - 1]!, order[at]!) <= 0) at++;
      if (at < to) order.set(yield* sortInTurns([...order.subarray(from, to)], compare), from);
      from = to;
    }
    return order;
  }

  /** The entries of groups of qualifiers, in an order. */
  *#partsOf(
    groups: readonly (readonly number[])[],
    counts: Uint32Array,
    order: Uint32Array,
  ): Generator<undefined, readonly PartEntries[]> {
    const partOf = new Uint32Array(counts.length);
    const numberOf = new Uint32Array(counts.length);
    const parts = groups.map((group, part) => {
      for (const [number, one] of group.entries()) [partOf[one], numberOf[one]] = [part, number];
      const size = group.reduce((sum, one) => sum + counts[one]!, 0);
      return emptyEntries(size, isInterval(this.kind) ? size : 0);
    });
    const filled = new Uint32Array(parts.length);
    for (const [place, entry] of order.entries()) {
      if (place % IN_TURN === 0) yield;
      const qualifier = this.#qualifierOf[entry]!;
      const part = partOf[qualifier]!;
      const { positions, marks, qualifiers, lows, highs, texts, ends } = parts[part]!;
      const index = filled[part]!++;
      positions[index] = this.#tags[entry]! / MARKS;
      marks[index] = this.#tags[entry]! % MARKS;
      qualifiers[index] = numberOf[qualifier]!;
      const value = this.#values.all[this.#valueOf[entry]!]!;
      if (typeof value === 'number') [lows[index], highs[index]] = [value, this.#highs[entry]!];
      else if (texts.length > 0 && texts.at(-1) === value) ends[ends.length - 1] = index + 1;
      else {
        texts.push(value);
        ends.push(index + 1);
      }
    }
    return parts;
  }
}

/** An entry with the smallest or largest value of a resource. */
interface Extreme {
  readonly entry: number;
  readonly order: string | number;
}

const NO_EXTREME: Extreme = { entry: -1, order: '' };

const MARKS = 4;

/** Gives each distinct value a number, from 0. */
class Numbering<Value> {
  readonly all: Value[] = [];
  readonly #numbers = new Map<Value, number>();
  #last: Value | undefined;
  #lastNumber = -1;

  of(value: Value): number {
    // Often the one before.
    if (value === this.#last) return this.#lastNumber;
    let number = this.#numbers.get(value);
    if (number === undefined) this.#numbers.set(value, (number = this.all.push(value) - 1));
    [this.#last, this.#lastNumber] = [value, number];
    return number;
  }
}

/** How often each number occurs. @param size more than the largest one */
function countsOf(numbers: readonly number[], size: number): Uint32Array {
  const counts = new Uint32Array(size);
  for (const one of numbers) counts[one]!++;
  return counts;
}

/** Sorts with pauses. */
function* sortInTurns<One>(all: readonly One[], compare: (a: One, b: One) => number): Generator<undefined, One[]> {
  let runs: One[][] = [];
  for (let from = 0; from < all.length; from += IN_TURN) {
    yield;
    runs.push(all.slice(from, from + IN_TURN).sort(compare));
  }
  while (runs.length > 1) {
    const merged: One[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(yield* mergeInTurns(runs[index]!, runs[index + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInTurns<One>(
  first: readonly One[],
  second: readonly One[],
  compare: (a: One, b: One) => number,
): Generator<undefined, One[]> {
  const merged: One[] = [];
  for (let a = 0, b = 0; a < first.length || b < second.length;) {
    if (merged.length % IN_TURN === 0) yield;
    const isFirst = b === second.length || (a < first.length && compare(first[a]!, second[b]!) <= 0);
    merged.push(isFirst ? first[a++]! : second[b++]!);
  }
  return merged;
}

/** How many entries are worked on between two pauses: a few milliseconds. */
const IN_TURN = 4_096;

function emptyEntries(
  size: number,
  intervals: number,
): PartEntries & { readonly texts: string[]; readonly ends: number[] } {
  return {
    positions: new Uint16Array(size),
    marks: new Uint8Array(size),
    qualifiers: new Uint32Array(size),
    lows: new Float64Array(intervals),
    highs: new Float64Array(intervals),
    texts: [],
    ends: [],
  };
}

/** @param size positions of the segment */
function* writePart(
  run: string,
  kind: RunKind,
  { part, qualifier, size }: { readonly part: number; readonly qualifier: string | undefined; readonly size: number },
  entries: PartEntries,
  rows: RowSink,
): Generator<undefined, RunPart> {
  const { positions, texts, ends } = entries;
  const isMixed = qualifier === undefined;
  for (let from = 0; from < positions.length; from += SIZES.row) {
    yield;
    const to = Math.min(positions.length, from + SIZES.row);
    rows.set(rowName(run, part, from / SIZES.row, false), positionsBytes(entries, from, to));
    rows.set(rowName(run, part, from / SIZES.row, true), valuesBytes(entries, kind, isMixed, from, to));
  }
  const frequent = new Set<string>();
  for (const [index, text] of texts.entries()) {
    const from = index === 0 ? 0 : ends[index - 1]!;
    if (isMixed || ends[index]! - from < SIZES.frequent) continue;
    yield;
    const set = new PositionSet(size);
    set.addAll(positions, from, ends[index]);
    rows.set(setName(run, qualifier, text), setBytes(set));
    frequent.add(text);
  }
  const marks = entries.marks.reduce((all, mark) => all | mark, 0);
  return { qualifier, size: positions.length, marks, bounds: boundsOf(entries), firsts: firstsOf(entries), frequent };
}

function boundsOf({ lows, highs }: PartEntries): Float64Array {
  const bounds: number[] = [];
  for (let from = 0; from < lows.length; from += SIZES.block) {
    const to = Math.min(lows.length, from + SIZES.block);
    let [smallest, largest] = [Infinity, -Infinity];
    for (let index = from; index < to; index++) {
      smallest = Math.min(smallest, highs[index]!);
      largest = Math.max(largest, highs[index]!);
    }
    bounds.push(lows[from]!, lows[to - 1]!, smallest, largest);
  }
  return Float64Array.from(bounds);
}

function firstsOf({ texts, ends }: PartEntries): readonly string[] {
  const firsts: string[] = [];
  for (const [index, text] of texts.entries()) {
    while (firsts.length * SIZES.block < ends[index]!) firsts.push(text);
  }
  return firsts;
}
