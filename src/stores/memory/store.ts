import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { R4 } from '../../fhir/r4.js';
import { decidesAccess } from '../../store/access-epoch.js';
import { assertFewResources, assertNotAborted, pageOf, storeClosed } from '../../store/guards.js';
import { type CallOptions } from '../../store/call-options.js';
import { CallPace, untilCallEnds } from '../../store/guards.js';
import { changeRetention, type ChangePage, type ChangesQuery, changesWindowOf } from '../../store/changes.js';
import type {
  HistoryEntry,
  HistoryPage,
  TypeHistoryEntry,
  TypeHistoryQuery,
  VersionRange,
} from '../../store/history.js';
import { deletionOf, type StoreRemoval } from '../../store/removal.js';
import type { ReferenceTarget, ResourceKey } from '../../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { ResourceStore } from '../../store/store.js';
import type { ReadResult, StoredResource } from '../../store/stored-resource.js';
import { CallTexts } from '../../store/text-budget.js';
import type { Change, Write, WriteResult } from '../../store/write.js';
import { Watchers } from '../../store/watchers.js';
import { commitWrites, storedVersion } from './commit.js';
import type { MemoryStoreOptions } from './config.js';
import { type HeldVersion, type Holding, ProjectData } from './project-data.js';
import { resourceBytes, resourceValues } from '../../store/json-text.js';
import { cutOf } from '../cut-page.js';
import { type FoundPage, searching, searchingReferring } from './search.js';
import { STEP, TimeLimit, within } from './time-limit.js';
import { purgeHistory, removalOf, typeHistory } from './versions.js';
import { getOrCreate, pushTo } from '../../platform/collections.js';
import { inTurns } from '../../platform/pace.js';

/**
 * A store that lives with the process: for tests and demonstrations, and as the reference for other stores.
 *
 * It keeps every promise of the contract but durability. Resources are handed out deeply frozen.
 *
 * @example
 * const store = new MemoryStore();
 */
export class MemoryStore implements ResourceStore {
  readonly model: FhirModel;
  readonly maxResourceBytes: number;
  readonly maxResourceValues: number;
  readonly readsAreCurrent = true;
  readonly removal: StoreRemoval = {
    purgeHistory: (request, options) =>
      this.#whenWhole(options, () => purgeHistory(this.#dataOf(request.project), request)),
    removeProject: (project, options) =>
      this.#whenWhole(options, () => {
        const step = removalOf(this.#dataOf(project));
        this.#projects.delete(project);
        if (step.resources > 0) this.#accessEpoch += 1;
        this.#watchers.notify([project]);
        return step;
      }),
    // The garbage collector does.
    scrub: async (options) => this.#assertUsable(options),
  };
  readonly #projects = new Map<string, ProjectData>();
  readonly #watchers = new Watchers();
  readonly #changeRetention: number;
  #accessEpoch = 0;
  readonly #clock: () => Date;
  #closed = false;
  /** Settles when the commit that is being applied has ended. */
  #applying: Promise<unknown> | undefined;
  /** Searches that have begun. A commit waits for them, and those that come later wait for it. */
  readonly #reading = new Set<Promise<unknown>>();

  constructor(options: MemoryStoreOptions = {}) {
    this.model = (options.model ?? R4).withBaseUrl(options.baseUrl);
    this.maxResourceBytes = resourceBytes(options.maxResourceBytes);
    this.maxResourceValues = resourceValues(options.maxResourceValues);
    this.#changeRetention = changeRetention(options.changeRetention);
    this.#clock = options.clock ?? (() => new Date());
  }

  read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return this.#whenWhole(options, () => {
      const texts = new CallTexts(options);
      return keys.map((key) => this.#readOne(key, texts));
    });
  }

  search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    const { model } = this;
    return this.#inSteps(options, query, function* (data, time) {
      const cut = cutOf(model, query);
      return yield* toPage(
        data,
        yield* searching(data, query, cut, time),
        query,
        new CallTexts(options, query.shortens),
      );
    });
  }

  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    const { model } = this;
    return this.#inSteps(options, query, function* (data, time) {
      const pages: SearchPage[] = [];
      const cut = cutOf(model, query);
      const texts = new CallTexts(options);
      for (const target of targets) {
        const found = yield* searchingReferring(data, query, parameter, target, cut, time);
        pages.push(yield* toPage(data, found, query, texts));
        yield;
      }
      const resources = pages.reduce((sum, { matches }) => sum + matches.length, 0);
      assertFewResources(resources, options);
      return pages;
    });
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    this.#assertUsable(options);
    return this.#whenWhole(options, () => {
      const applied = this.#apply(writes, options);
      const end = (): void => void (this.#applying = undefined);
      this.#applying = applied.then(end, end);
      return applied;
    });
  }

  async accessEpoch(options?: CallOptions): Promise<string> {
    this.#assertUsable(options);
    return String(this.#accessEpoch);
  }

  history(key: ResourceKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage> {
    return this.#whenWhole(options, () => {
      const { offset, limit = 0 } = pageOf(page);
      const { versions, erased } = this.#dataOf(key.project).holding(key.type, key.id) ?? NEVER_WRITTEN;
      const asked = versions.toReversed().slice(offset, offset + limit);
      const fitting = new CallTexts(options, page.shortens).fitting(asked.map(({ bytes }) => bytes));
      const entries = asked.slice(0, fitting).map((version) => historyEntry(version, erased));
      return { entries, total: versions.length };
    });
  }

  typeHistory(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    return this.#whenWhole(options, () =>
      typeHistory(this.#dataOf(query.project), query, new CallTexts(options, query.shortens)),
    );
  }

  changes(query: ChangesQuery, options?: CallOptions): Promise<ChangePage> {
    return this.#whenWhole(options, () => {
      const data = this.#dataOf(query.project);
      data.feed.forget(this.#clock().getTime() - this.#changeRetention);
      return data.feed.page(changesWindowOf(query), ({ key: { type, id }, versionId }) =>
        Boolean(data.holding(type, id)?.versions.some((version) => version.versionId === versionId)),
      );
    });
  }

  watch(project: string, listener: () => void): () => void {
    return this.#watchers.watch(project, listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#applying;
    this.#projects.clear();
  }

  /** Does work that other work interrupts, but no commit. */
  #inSteps<Result>(
    options: CallOptions | undefined,
    { project }: SearchQuery,
    work: (data: ProjectData, time: TimeLimit) => Generator<void, Result>,
  ): Promise<Result> {
    return this.#whenWhole(options, () => {
      const data = this.#dataOf(project);
      const time = new TimeLimit(options?.deadline);
      const steps = within(time, work(data, time));
      const reading = inTurns(steps, new CallPace(options));
      const end = (): void => void this.#reading.delete(reading);
      this.#reading.add(reading);
      reading.then(end, end);
      return reading;
    });
  }

  /** Does work that sees no commit half done: a long one has other work between its writes. */
  async #whenWhole<Result>(options: CallOptions | undefined, work: () => Result | Promise<Result>): Promise<Result> {
    this.#assertUsable(options);
    while (this.#applying !== undefined) {
      await untilCallEnds(this.#applying, options);
      this.#assertUsable(options);
    }
    return work();
  }

  async #apply(writes: readonly Write[], options: CallOptions | undefined): Promise<readonly WriteResult[]> {
    if (this.#reading.size > 0) await untilCallEnds(Promise.allSettled(this.#reading), options);
    const dataOf = (project: string): ProjectData => this.#dataOf(project);
    const now = this.#clock().getTime();
    const { results, changes } = await commitWrites(this.model, writes, dataOf, now, options);
    const byProject = new Map<string, Change[]>();
    for (const change of changes) pushTo(byProject, change.key.project, change);
    for (const [project, ofProject] of byProject) {
      const { feed } = dataOf(project);
      feed.forget(now - this.#changeRetention);
      feed.add(ofProject, now);
    }
    if (changes.some(decidesAccess)) this.#accessEpoch += 1;
    this.#watchers.notify(byProject.keys());
    return results;
  }

  #readOne({ project, type, id, version }: ResourceKey, texts: CallTexts): ReadResult {
    const { versions, erased } = this.#dataOf(project).holding(type, id) ?? NEVER_WRITTEN;
    const held = version === undefined ? versions.at(-1) : versions.find(({ versionId }) => versionId === version);
    if (held === undefined) return { status: 'missing' };
    texts.takes(held.bytes);
    if (held.resource !== undefined) return { status: 'found', ...storedVersion(held) };
    return { status: 'gone', ...deletionOf(held.versionId, held.updated, erased) };
  }

  #dataOf(project: string): ProjectData {
    return getOrCreate(this.#projects, project, () => new ProjectData());
  }

  #assertUsable(options: CallOptions | undefined): void {
    if (this.#closed) throw storeClosed();
    assertNotAborted(options);
  }
}

function* toPage(
  data: ProjectData,
  { subjects, total }: FoundPage,
  query: SearchQuery,
  texts: CallTexts,
): Generator<void, SearchPage> {
  const matches: StoredResource[] = [];
  const isBackwards = query.before !== undefined;
  // A shorter page keeps what is next to the position that bounds it.
  for (const { type, id } of isBackwards ? subjects.toReversed() : subjects) {
    const held = data.holding(type, id)!.versions.at(-1)!;
    if (!texts.takes(held.bytes)) break;
    matches.push(storedVersion(held));
    if (matches.length % STEP === 0) yield;
  }
  if (isBackwards) matches.reverse();
  return query.total === true ? { matches, total } : { matches };
}

function historyEntry(version: HeldVersion, erased: string | undefined): HistoryEntry {
  if (version.resource !== undefined) return { kind: 'put', ...storedVersion(version) };
  return { kind: 'delete', ...deletionOf(version.versionId, version.updated, erased) };
}

const NEVER_WRITTEN: Pick<Holding, 'versions' | 'erased'> = { versions: [], erased: undefined };
