import { compareTexts } from '../../platform/texts.js';
import { getOrCreate } from '../../platform/collections.js';
import { randomSecret } from '../../platform/crypto.js';
import { orderOf } from '../../search/evaluate/sort.js';
import type { IndexEntry, IndexValue } from '../../search/index/index-entry.js';
import { type Ask, ask } from '../ask.js';
import type { IndexedResource, SegmentPort } from './port.js';
import { type RowSink, RunBuilder } from './run-builder.js';
import { SIZES } from './run-format.js';
import { writeIds } from './segment-ids.js';
import { cutText, isInterval, pairQualifierOf, qualifierOf, type RunKind, textOf } from './value.js';

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
 * @param ids at most `MAX_SIZE`, each once
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
  /** What becomes of the entries of a parameter is found by one look for each entry. */
  readonly #targets = new Map<string, Target>();
  /** The entries of the components of each composite, of the resource that is added. */
  readonly #composites = new Map<string, IndexEntry[][]>();

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
    updated.addValue(position, '', lastUpdated, lastUpdated + 1, lastUpdated);
    for (const entry of entries) {
      const { run, folded, component } = getOrCreate(this.#targets, entry.parameter, () => this.#targetOf(entry));
      if (run !== undefined) addEntry(run, folded, position, entry.value);
      else component?.push(entry);
    }
    for (const [composite, components] of this.#composites) {
      if (components[0]!.length > 0) addPairs(this, position, composite, components);
      for (const one of components) one.length = 0;
    }
  }

  #targetOf({ parameter, value: { kind } }: IndexEntry): Target {
    // Values of resources inside are tested per resource; see evaluation.ts.
    if (parameter.startsWith('#')) return {};
    const end = parameter.lastIndexOf('$');
    if (end >= 0) {
      const components = getOrCreate(this.#composites, parameter.slice(0, end), () => [[], [], []]);
      return { component: components[Math.min(2, Number(parameter.slice(end + 1)))] };
    }
    const run = this.run(parameter, kind, false);
    return { run, ...(kind === 'string' && { folded: this.run(foldedRun(parameter), kind, false) }) };
  }

  run(name: string, kind: RunKind, isPair: boolean): RunBuilder {
    return getOrCreate(this.#runs, name, () => new RunBuilder(kind, isPair, this.capacity));
  }

  *finish(): Generator<undefined, BuiltSegment> {
    const { ids, knows } = this;
    const rows: RowSink = new Map();
    yield* writeIds(ids, rows);
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

/** Where entries of index rows go: to runs, or to the others of a composite. */
interface Target {
  readonly run?: RunBuilder;
  /** Of strings. */
  readonly folded?: RunBuilder;
  readonly component?: IndexEntry[] | undefined;
}

function addEntry(run: RunBuilder, folded: RunBuilder | undefined, position: number, value: IndexValue): void {
  const order = orderOf(value);
  // A parameter has values of one kind. Other values would only be tested per resource.
  if (value.kind !== run.kind) {
    run.present.add(position);
    run.partial.add(position);
  } else if ('low' in value) run.addValue(position, qualifierOf(value), value.low, value.high, order);
  else if (folded === undefined) run.addValue(position, qualifierOf(value), textOf(value), 0, order);
  else {
    run.addValue(position, '', cutText(order as string), 0, order);
    folded.addValue(position, '', textOf(value), 0, order);
  }
}

/**
 * Adds the pairs of values of a composite that are in one group. A composite of three components, or of two intervals,
 * has no pairs: it is tested per resource. So is a resource with very many pairs.
 */
function addPairs(
  writer: SegmentWriter,
  position: number,
  composite: string,
  [firsts, seconds, more]: readonly (readonly IndexEntry[])[],
): void {
  const swapped = isInterval(firsts![0]!.value.kind);
  const [left, right] = (swapped ? [seconds, firsts] : [firsts, seconds]) as [
    readonly IndexEntry[],
    readonly IndexEntry[],
  ];
  const run = writer.run(composite, right[0]?.value.kind ?? 'token', true);
  run.present.add(position);
  const isIndexed =
    more!.length === 0 &&
    left.length * right.length <= MAX_PAIRS &&
    left.every(({ value }) => !isInterval(value.kind)) &&
    right.every(({ value }) => value.kind === run.kind);
  if (!isIndexed) return run.partial.add(position);
  for (const { group, value: first } of left) {
    for (const { group: other, value } of right) {
      if (group !== other) continue;
      const qualifier = pairQualifierOf(first, value);
      if ('low' in value) run.add(position, qualifier, value.low, value.high, 0);
      else run.add(position, qualifier, textOf(value), 0, 0);
    }
  }
}

/** Most pairs of a resource that are compared. */
const MAX_PAIRS = 1_024;
