import type { AnyResource } from '../../fhir/resource.js';
import type { SearchSubject, SearchWorld } from '../../search/evaluate/search-subject.js';
import { referenceTo } from '../../fhir/reference.js';
import { compareIds } from '../../search/evaluate/sort.js';
import type { StringTest } from '../../search/criteria/value-test.js';
import { firstPlace, getOrCreate, sorting } from '../../platform/collections.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import { SharedSteps } from '../../platform/shared-work.js';
import { ProjectFeed } from './project-feed.js';
import { STEP } from './time-limit.js';
import { ValueIndexes } from './value-indexes.js';

/** One resource with everything that ever was under its id. */
export interface Holding {
  readonly type: string;
  readonly id: string;
  /** Oldest first, the earliest of them may have been purged; never empty once written. */
  readonly versions: HeldVersion[];
  /** Why it was erased; undefined: it was not. */
  erased: string | undefined;
  /** What searches see; undefined while there is no current version. */
  subject: SearchSubject | undefined;
  /** The unique texts it holds. */
  unique: readonly string[];
}

export interface HeldVersion {
  readonly versionId: string;
  /** Milliseconds since 1970. */
  readonly updated: number;
  /** Position among all versions of the project. */
  readonly sequence: number;
  /** Deeply frozen; undefined: the version is a deletion. */
  readonly resource: AnyResource | undefined;
  /** Of its JSON text in UTF-8; 0 for a deletion. */
  readonly bytes: number;
}

/** A version with its resource. */
export interface TimelineEntry {
  readonly holding: Holding;
  readonly version: HeldVersion;
}

/** Everything one project holds, with the indexes that its searches need. */
export class ProjectData implements SearchWorld {
  readonly #byType = new Map<string, Map<string, Holding>>();
  /** By target, then by type and parameter of what refers to it. */
  readonly #referring = new Map<string, Map<string, Set<SearchSubject>>>();
  readonly #uniqueHolders = new Map<string, Holding>();
  /** All versions of a type by instant, the oldest first. */
  readonly #timelines = new Map<string, TimelineEntry[]>();
  readonly feed = new ProjectFeed();
  #lastSequence = 0;
  /** Current resources by ascending id; made when asked for. */
  readonly #ordered = new Map<string, SharedSteps<SearchSubject[]>>();
  readonly #indexes = new Map<string, ValueIndexes>();

  holding(type: string, id: string): Holding | undefined {
    return this.#byType.get(type)?.get(id);
  }

  /** Makes room for a resource that has no version yet. */
  addHolding(type: string, id: string): Holding {
    const holding: Holding = { type, id, versions: [], erased: undefined, subject: undefined, unique: [] };
    getOrCreate(this.#byType, type, () => new Map<string, Holding>()).set(id, holding);
    return holding;
  }

  removeHolding({ type, id }: Holding): void {
    this.#byType.get(type)?.delete(id);
  }

  /** Adds the next version of a resource. */
  addVersion(holding: Holding, version: Omit<HeldVersion, 'sequence'>): HeldVersion {
    const added = { ...version, sequence: (this.#lastSequence += 1) };
    holding.versions.push(added);
    const timeline = getOrCreate(this.#timelines, holding.type, () => []);
    // Clocks rarely go back, so this is usually the end.
    const after = timeline.findLastIndex((one) => one.version.updated <= added.updated);
    timeline.splice(after + 1, 0, { holding, version: added });
    return added;
  }

  /** Removes the newest version of a resource. */
  removeVersion(holding: Holding): void {
    const version = holding.versions.pop();
    const timeline = this.#timelines.get(holding.type)!;
    timeline.splice(
      timeline.findLastIndex((one) => one.version === version),
      1,
    );
  }

  /** Removes the oldest versions of resources, so many of each. @returns what takes it back */
  removeOldest(counts: readonly (readonly [Holding, number])[]): () => void {
    const removed = counts.map(([holding, count]) => ({ holding, oldest: holding.versions.splice(0, count) }));
    // PERF (scale): an erasure removes few versions, and one for each of thousands of resources follows in the same commit.
    const isFew = removed.reduce((sum, { oldest }) => sum + oldest.length, 0) <= FEW_REMOVED;
    const back = isFew ? this.#removeFew(removed) : this.#removeMany(removed);
    return () => {
      back();
      for (const { holding, oldest } of removed) holding.versions.unshift(...oldest);
    };
  }

  #removeFew(removed: readonly RemovedVersions[]): () => void {
    const undo: (() => void)[] = [];
    for (const { holding, oldest } of removed) {
      const timeline = this.#timelines.get(holding.type)!;
      for (const version of oldest) {
        const place = placeOf(timeline, version);
        const entries = timeline.splice(place, 1);
        undo.push(() => void timeline.splice(place, 0, ...entries));
      }
    }
    return () => {
      for (const one of undo.reverse()) one();
    };
  }

  #removeMany(removed: readonly RemovedVersions[]): () => void {
    const before = new Map(this.#timelines);
    const versions = new Set(removed.flatMap(({ oldest }) => oldest));
    for (const type of new Set(removed.map(({ holding }) => holding.type))) {
      const timeline = this.#timelines.get(type)!;
      this.#timelines.set(
        type,
        timeline.filter(({ version }) => !versions.has(version)),
      );
    }
    return () => {
      for (const [type, timeline] of before) this.#timelines.set(type, timeline);
    };
  }

  /** All versions of a type by instant, the oldest first. */
  timeline(type: string): readonly TimelineEntry[] {
    return this.#timelines.get(type) ?? [];
  }

  /** Everything that ever was in the project, of one or all types. */
  *holdings(type?: string): Iterable<Holding> {
    for (const [name, byId] of this.#byType) if (type === undefined || type === name) yield* byId.values();
  }

  /** Current resources of a type by ascending id, from an id on if given; ordered in steps when first asked for. */
  *subjects(type: string, after?: string): Generator<void, Iterable<SearchSubject>> {
    const steps = getOrCreate(this.#ordered, type, () => {
      return new SharedSteps(sorting([...this.#current(type)], (a, b) => compareIds(a.id, b.id), { run: STEP }));
    });
    const ordered = yield* steps.finishing();
    return after === undefined ? ordered : from(ordered, after);
  }

  find(type: string, id: string): SearchSubject | undefined {
    return this.holding(type, id)?.subject;
  }

  referencing(type: string, parameter: string, target: ReferenceTarget): Iterable<SearchSubject> {
    const referring = this.#referring.get(referenceTo(target.type, target.id));
    return referring?.get(linkName(type, parameter)) ?? [];
  }

  /**
   * The current resources of a type with one of the codes.
   *
   * @returns undefined if they are so many that reading the type in order takes no longer
   */
  *withCode(
    type: string,
    parameter: string,
    codes: readonly string[],
  ): Generator<void, readonly SearchSubject[] | undefined> {
    return yield* this.#indexesOf(type).withCode(this.#current(type), parameter, codes, this.#fewOf(type));
  }

  /**
   * The current resources of a type with such a text, and maybe others.
   *
   * @returns undefined if no index helps, or if they are so many that reading the type in order takes no longer
   */
  *withText(type: string, parameter: string, test: StringTest): Generator<void, readonly SearchSubject[] | undefined> {
    return yield* this.#indexesOf(type).withText(this.#current(type), parameter, test, this.#fewOf(type));
  }

  uniqueHolder(text: string): Holding | undefined {
    return this.#uniqueHolders.get(text);
  }

  /** Changes what a resource can be found by; undefined takes it out of all searches. */
  setSubject(holding: Holding, subject: SearchSubject | undefined): void {
    const before = holding.subject;
    if (before !== undefined) {
      for (const [target, link] of links(before)) this.#referring.get(target)?.get(link)?.delete(before);
    }
    this.#indexes.get(holding.type)?.replace(before, subject);
    this.#reorder(holding, subject);
    holding.subject = subject;
    if (subject === undefined) return;
    for (const [target, link] of links(subject)) {
      const referring = getOrCreate(this.#referring, target, () => new Map<string, Set<SearchSubject>>());
      getOrCreate(referring, link, () => new Set<SearchSubject>()).add(subject);
    }
  }

  *#current(type: string): Iterable<SearchSubject> {
    for (const { subject } of this.holdings(type)) if (subject !== undefined) yield subject;
  }

  #indexesOf(type: string): ValueIndexes {
    return getOrCreate(this.#indexes, type, () => new ValueIndexes());
  }

  #fewOf(type: string): number {
    return (this.#byType.get(type)?.size ?? 0) / FEW;
  }

  /** A transaction may search after each of its writes, and sorting takes longer than a search. */
  #reorder({ type, id, subject: before }: Holding, subject: SearchSubject | undefined): void {
    const ordered = this.#ordered.get(type)?.result;
    if (ordered === undefined) {
      // A search that ended early left it unfinished.
      this.#ordered.delete(type);
      return;
    }
    const place = firstPlace(ordered.length, (one) => ordered[one]!.id < id);
    ordered.splice(place, before === undefined ? 0 : 1, ...(subject === undefined ? [] : [subject]));
  }

  /** Changes the unique texts that a resource holds. */
  setUnique(holding: Holding, texts: readonly string[]): void {
    for (const text of holding.unique) this.#uniqueHolders.delete(text);
    holding.unique = texts;
    for (const text of texts) this.#uniqueHolders.set(text, holding);
  }
}

/** So many versions are removed from a timeline one by one; more in one pass over it. */
const FEW_REMOVED = 100;

interface RemovedVersions {
  readonly holding: Holding;
  readonly oldest: readonly HeldVersion[];
}

/** Where a version is in the timeline of its type. */
function placeOf(timeline: readonly TimelineEntry[], { updated, sequence }: HeldVersion): number {
  return firstPlace(timeline.length, (place) => {
    const { version } = timeline[place]!;
    return version.updated < updated || (version.updated === updated && version.sequence < sequence);
  });
}

/** The subjects whose ids come after an id. */
function* from(ordered: readonly SearchSubject[], after: string): Iterable<SearchSubject> {
  let place = firstPlace(ordered.length, (one) => ordered[one]!.id <= after);
  for (; place < ordered.length; place++) yield ordered[place]!;
}

/** One of so many resources of a type has a value that few have. */
const FEW = 8;

/** The (target, link) pairs of all references of a resource. */
function* links(subject: SearchSubject): Iterable<readonly [target: string, link: string]> {
  for (const [parameter, entries] of subject.entries) {
    // What resources inside refer to is reached by chains alone.
    if (parameter.startsWith('#')) continue;
    for (const { value } of entries) {
      if (value.kind !== 'reference' || 'url' in value) continue;
      yield [referenceTo(value.type, value.id), linkName(subject.type, parameter)];
    }
  }
}

/** Type names have no dot, so the text is never ambiguous. */
function linkName(type: string, parameter: string): string {
  return `${type}.${parameter}`;
}
