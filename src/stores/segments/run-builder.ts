import { compareTexts } from '../../platform/compare-texts.js';
import { getOrCreate, pushTo } from '../../platform/maps.js';
import { setBytes } from './bytes.js';
import { PositionSet } from './position-set.js';
import {
  directoryBytes,
  directoryName,
  type PartEntries,
  positionsBytes,
  rowName,
  type RunPart,
  setName,
  SIZES,
  valuesBytes,
} from './run-format.js';
import { isCut, isInterval, type RunKind } from './value.js';

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
  readonly #byQualifier = new Map<string, Entries>();

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

  addText(position: number, qualifier: string, text: string, mark: number): void {
    const entries = this.#entriesOf(qualifier);
    pushTo(entries.texts, text, position * MARKS + mark);
    entries.size += 1;
  }

  addInterval(position: number, qualifier: string, low: number, high: number, mark: number): void {
    const entries = this.#entriesOf(qualifier);
    entries.intervals.push({ low, high, tag: position * MARKS + mark });
    entries.size += 1;
  }

  #entriesOf(qualifier: string): Entries {
    return getOrCreate(this.#byQualifier, qualifier, () => ({ size: 0, texts: new Map(), intervals: [] }));
  }

  /** Writes the run under a name. @param size positions of the segment */
  *finish(run: string, size: number, rows: RowSink): Generator<undefined, void> {
    const { kind, isPair } = this;
    const [present, ordered, partial] = [this.present, this.ordered, this.partial].map((set) => set.first(size));
    const all = [...this.#byQualifier].sort(([a], [b]) => compareTexts(a, b));
    const rare = all.filter(([, entries]) => entries.size < SIZES.block);
    const parts = all
      .filter(([, entries]) => entries.size >= SIZES.block)
      .map(([qualifier, entries]): [string | undefined, Entries[]] => [qualifier, [entries]]);
    if (rare.length > 0) parts.push([undefined, rare.map(([, entries]) => entries)]);
    const unordered = present!.copy().subtract(ordered!);
    const hasCut = all.some(([, { texts }]) => [...texts.keys()].some(isCut));
    const qualifiers = rare.map(([qualifier]) => qualifier);
    const written: RunPart[] = [];
    for (const [part, [qualifier, entries]] of parts.entries()) {
      yield;
      const sorted = yield* isInterval(kind) ? sortedIntervals(entries) : sortedTexts(entries);
      written.push(yield* writePart(run, kind, { part, qualifier, size }, sorted, rows));
    }
    const directory = {
      kind,
      isPair,
      hasCut,
      present: present!,
      unordered,
      partial: partial!,
      qualifiers,
      parts: written,
    };
    rows.set(directoryName(run), directoryBytes(directory));
  }
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
  return { qualifier, size: positions.length, bounds: boundsOf(entries), firsts: firstsOf(entries), frequent };
}

/** Entries with one qualifier. A tag is a position and a mark. */
interface Entries {
  size: number;
  readonly texts: Map<string, number[]>;
  readonly intervals: { readonly low: number; readonly high: number; readonly tag: number }[];
}

const MARKS = 4;

/** @param parts the entries of each qualifier, by the number that it has in the part */
function* sortedIntervals(parts: readonly Entries[]): Generator<undefined, PartEntries> {
  const given: { readonly low: number; readonly high: number; readonly tag: number; readonly qualifier: number }[] = [];
  for (const [qualifier, { intervals }] of parts.entries()) {
    for (const { low, high, tag } of intervals) given.push({ low, high, tag, qualifier });
  }
  const all = yield* sortInTurns(
    given,
    (a, b) => a.low - b.low || a.tag - b.tag || a.high - b.high || a.qualifier - b.qualifier,
  );
  const sorted = emptyEntries(all.length, all.length);
  for (let index = 0; index < all.length; index++) {
    const { low, high, tag, qualifier } = all[index]!;
    sorted.lows[index] = low;
    sorted.highs[index] = high;
    setTag(sorted, index, tag, qualifier);
  }
  return sorted;
}

function* sortedTexts(parts: readonly Entries[]): Generator<undefined, PartEntries> {
  // A tag and the number of a qualifier are one number, so that they are sorted together.
  const found = new Map<string, number[]>();
  let size = 0;
  for (const [qualifier, { texts }] of parts.entries()) {
    for (const [text, tags] of texts) {
      if (found.size % IN_TURN === 0) yield;
      const list = getOrCreate(found, text, (): number[] => []);
      for (const tag of tags) list.push(tag * QUALIFIERS + qualifier);
      size += tags.length;
    }
  }
  const texts = yield* sortInTurns([...found.keys()], compareTexts);
  const ends: number[] = [];
  const sorted = { ...emptyEntries(size, 0), texts, ends };
  let index = 0;
  for (const text of texts) {
    if (ends.length % IN_TURN === 0) yield;
    for (const one of found.get(text)!.sort((a, b) => a - b)) {
      setTag(sorted, index++, Math.floor(one / QUALIFIERS), one % QUALIFIERS);
    }
    ends.push(index);
  }
  return sorted;
}

/** Sorts with pauses. The last sort finds sorted runs, which it only merges. */
function* sortInTurns<One>(all: readonly One[], compare: (a: One, b: One) => number): Generator<undefined, One[]> {
  const runs: One[] = [];
  for (let from = 0; from < all.length; from += IN_TURN) {
    yield;
    for (const one of all.slice(from, from + IN_TURN).sort(compare)) runs.push(one);
  }
  return runs.sort(compare);
}

/** How many entries are worked on between two pauses: a few milliseconds. */
const IN_TURN = 4_096;

/** More than a segment has qualifiers. */
const QUALIFIERS = 2 ** 32;

function emptyEntries(size: number, intervals: number): PartEntries {
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

function setTag({ positions, marks, qualifiers }: PartEntries, index: number, tag: number, qualifier: number): void {
  positions[index] = Math.floor(tag / MARKS);
  marks[index] = tag % MARKS;
  qualifiers[index] = qualifier;
}

function boundsOf({ lows, highs }: PartEntries): Float64Array {
  const bounds: number[] = [];
  for (let from = 0; from < lows.length; from += SIZES.block) {
    const own = highs.subarray(from, from + SIZES.block);
    bounds.push(lows[from]!, lows[from + own.length - 1]!, Math.min(...own), Math.max(...own));
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
