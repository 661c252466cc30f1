import { compareTexts } from '../../platform/compare-texts.js';
import { getOrCreate } from '../../platform/maps.js';
import { randomSecret } from '../../platform/random-secret.js';
import { orderOf } from '../../search/evaluate/sort.js';
import type { IndexEntry, IndexValue } from '../../search/index/index-entry.js';
import { orderKey } from '../../search/index/fold.js';
import { type Ask, ask } from '../ask.js';
import type { IndexedResource, SegmentPort } from './port.js';
import { type RowSink, RunBuilder } from './run-builder.js';
import { LARGEST, SIZES, SMALLEST } from './run-format.js';
import { writeIds } from './segment-ids.js';
import { cutText, firstParts, isInterval, partsOf, qualifierOf, type RunKind, textOf } from './value.js';

/** Most resources of a segment: a position takes two bytes. */
export const MAX_SIZE = 65_536;

/** A segment that was built, before it is stored. */
export interface BuiltSegment {
  readonly id: string;
  readonly size: number;
  readonly rows: ReadonlyMap<string, Uint8Array>;
}

/**
 * The search parameters that the runs of a segment are complete for, each with its fingerprint: the definition by which
 * the values were extracted.
 */
export interface KnownParameters {
  readonly [code: string]: string;
}

/** The first row of a segment. */
export interface SegmentHeader {
  readonly size: number;
  readonly knows: KnownParameters;
  /** The first id of each row of ids. */
  readonly firstIds: readonly string[];
  /** The names of its runs. A known parameter without a run has no values. */
  readonly runs: readonly string[];
}

export const HEADER = 'segment';

/** The run of the folded texts of a string parameter. Its other run has the order keys. */
export function foldedRun(parameter: string): string {
  return `${parameter}~`;
}

/** The run of the instants of change. */
export const LAST_UPDATED = '_lastUpdated';

/** The search parameter that a run or an index entry belongs to: see index-entry.ts. */
export function parameterOf(name: string): string {
  return name.split(/[$:#~]/, 1)[0]!;
}

/**
 * Builds a segment of the current resources among some.
 *
 * @param ids at most {@link MAX_SIZE}, each once
 * @returns undefined if there are none
 */
export function* buildSegment(
  type: string,
  ids: readonly string[],
  knows: KnownParameters,
): Ask<SegmentPort, BuiltSegment | undefined> {
  const sorted = ids.toSorted(compareTexts);
  const writer = new SegmentWriter(sorted.length, knows);
  for (let from = 0; from < sorted.length; from += READ_TOGETHER) {
    const part = sorted.slice(from, from + READ_TOGETHER);
    const resources = yield* ask((port: SegmentPort) => port.resources(type, part));
    for (const one of resources.toSorted((a, b) => compareTexts(a.id, b.id))) writer.add(one);
  }
  return writer.ids.length === 0 ? undefined : yield* writer.finish();
}

/** Resources that are read by one question: some milliseconds of work where they are indexed from their texts. */
export const READ_TOGETHER = 200;

/** Collects the runs of a new segment. */
export class SegmentWriter {
  readonly ids: string[];
  readonly #runs = new Map<string, RunBuilder>();

  /**
   * @param capacity most resources
   * @param ids of resources of which the runs are made by the caller, in ascending order
   */
  constructor(
    readonly capacity: number,
    readonly knows: KnownParameters,
    ids: readonly string[] = [],
  ) {
    this.ids = [...ids];
  }

  /** Adds a resource; they come by ascending id. */
  add({ id, lastUpdated, entries }: IndexedResource): void {
    const position = this.ids.push(id) - 1;
    const updated = this.run(LAST_UPDATED, 'date', false);
    updated.present.add(position);
    updated.ordered.add(position);
    updated.addInterval(position, '', lastUpdated, lastUpdated + 1, SMALLEST | LARGEST);
    addEntries(this, position, entries);
  }

  run(name: string, kind: RunKind, isPair: boolean): RunBuilder {
    return getOrCreate(this.#runs, name, () => new RunBuilder(kind, isPair, this.capacity));
  }

  *finish(): Generator<undefined, BuiltSegment> {
    const { ids, knows } = this;
    const rows: RowSink = new Map();
    writeIds(ids, rows);
    const runs: string[] = [];
    for (const [name, run] of [...this.#runs].sort(([a], [b]) => compareTexts(a, b))) {
      yield;
      // Of some runs all resources are dead, or their parameter is not known.
      if (run.present.isEmpty || !isKnown(name, knows)) continue;
      yield* run.finish(name, ids.length, rows);
      runs.push(name);
    }
    const firstIds = ids.filter((_, position) => position % SIZES.ids === 0);
    const header: SegmentHeader = { size: ids.length, knows, firstIds, runs };
    rows.set(HEADER, Buffer.from(JSON.stringify(header)));
    return { id: randomSecret(), size: ids.length, rows };
  }
}

/** Whether a segment that knows some parameters has a run. */
export function isKnown(run: string, knows: KnownParameters): boolean {
  return run === LAST_UPDATED || Object.hasOwn(knows, parameterOf(run));
}

function addEntries(writer: SegmentWriter, position: number, entries: readonly IndexEntry[]): void {
  const byParameter = new Map<string, IndexEntry[]>();
  for (const entry of entries) {
    // Values of resources inside are tested per resource; see evaluation.ts.
    if (!entry.parameter.startsWith('#')) getOrCreate(byParameter, entry.parameter, (): IndexEntry[] => []).push(entry);
  }
  for (const [parameter, own] of byParameter) {
    const component = parameter.lastIndexOf('$');
    if (component < 0) addValues(writer, position, parameter, own);
    else if (parameter.endsWith('$0')) {
      const composite = parameter.slice(0, component);
      addPairs(
        writer,
        position,
        composite,
        own,
        byParameter.get(`${composite}$1`) ?? [],
        byParameter.has(`${composite}$2`),
      );
    }
  }
}

function addValues(writer: SegmentWriter, position: number, parameter: string, entries: readonly IndexEntry[]): void {
  const run = writer.run(parameter, entries[0]!.value.kind, false);
  run.present.add(position);
  const marks = marksOf(entries);
  for (const [index, { value }] of entries.entries()) {
    const mark = marks[index]!;
    if (mark !== 0) run.ordered.add(position);
    // A parameter has values of one kind. Other values would only be tested per resource.
    if (value.kind !== run.kind) run.partial.add(position);
    else if (value.kind === 'string') {
      run.addText(position, '', cutText(orderKey(value)), mark);
      const folded = writer.run(foldedRun(parameter), 'string', false);
      folded.present.add(position);
      folded.ordered.add(position);
      folded.addText(position, '', textOf(value), mark);
    } else addTo(run, position, qualifierOf(partsOf(value)), value, mark);
  }
}

function addTo(run: RunBuilder, position: number, qualifier: string, value: IndexValue, mark: number): void {
  if ('low' in value) run.addInterval(position, qualifier, value.low, value.high, mark);
  else run.addText(position, qualifier, textOf(value), mark);
}

/** Marks the smallest and the largest value of a resource. Values without an order have no mark. */
function marksOf(entries: readonly IndexEntry[]): readonly number[] {
  // PERF: nearly all parameters have one value.
  if (entries.length === 1) return orderOf(entries[0]!.value) === undefined ? UNORDERED : ONLY;
  let [smallest, largest] = [-1, -1];
  const values = entries.map(({ value }) => orderOf(value));
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    if (smallest < 0 || compareOrders(value, values[smallest]!) < 0) smallest = index;
    if (largest < 0 || compareOrders(value, values[largest]!) > 0) largest = index;
  }
  return entries.map((_, index) => (index === smallest ? SMALLEST : 0) | (index === largest ? LARGEST : 0));
}

const UNORDERED: readonly number[] = [0];
const ONLY: readonly number[] = [SMALLEST | LARGEST];

/** The order of `compareSubjects`. */
export function compareOrders(a: string | number, b: string | number): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Adds the pairs of values of a composite that are in one group. A composite of three components, or of two intervals,
 * has no pairs: it is tested per resource. So is a resource with very many pairs.
 */
function addPairs(
  writer: SegmentWriter,
  position: number,
  composite: string,
  firsts: readonly IndexEntry[],
  seconds: readonly IndexEntry[],
  hasMore: boolean,
): void {
  const swapped = isInterval(firsts[0]!.value.kind);
  const [left, right] = swapped ? [seconds, firsts] : [firsts, seconds];
  const run = writer.run(composite, right[0]?.value.kind ?? 'token', true);
  run.present.add(position);
  const isIndexed =
    !hasMore &&
    left.length * right.length <= MAX_PAIRS &&
    left.every(({ value }) => !isInterval(value.kind)) &&
    right.every(({ value }) => value.kind === run.kind);
  if (!isIndexed) return run.partial.add(position);
  for (const { group, value: first } of left) {
    for (const { group: other, value } of right) {
      if (group === other) addTo(run, position, qualifierOf([...firstParts(first), ...partsOf(value)]), value, 0);
    }
  }
}

/** Most pairs of a resource that are compared. */
const MAX_PAIRS = 1_024;
