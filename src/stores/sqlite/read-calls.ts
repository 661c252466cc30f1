import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ReferenceTarget, ResourceKey } from '../../store/resource-key.js';
import type { HistoryPage, TypeHistoryEntry, TypeHistoryQuery, VersionRange } from '../../store/history.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { ReadResult, StoredResource } from '../../store/stored-resource.js';
import { assertFewResources } from '../../store/guards.js';
import { CallTexts } from '../../store/text-budget.js';
import { ATTEMPTS } from '../../store/with-retries.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import type { Contents, ElementsAt } from './rows/contents.js';
import type { IndexesOnDemand } from './indexes-on-demand.js';
import { isTextLost } from './rows/kept-text.js';
import { entriesOf, findVersions, type VersionPage } from './rows/version-page.js';
import type { KeyPage } from './search/search.js';
import { THREAD_TUNING } from './database/tuning.js';
import { asOfNow } from './database/transaction.js';
import { typeHistoryKeys, versionsOf } from './search/type-history.js';
import { isIndexDropped } from './schema/value-indexes.js';

/** Reads and searches of the store: statements find versions, and their texts are parsed in slices. */
export class ReadCalls {
  constructor(
    private readonly connection: Connection,
    private readonly calls: CallRunner,
    private readonly indexes: IndexesOnDemand,
  ) {}

  read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    const counts = new CallTexts(options);
    return this.#readNow(keys, counts, options) ?? this.#whileKept(() => this.#read(keys, counts, options));
  }

  search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    return this.#whileKept(() => this.#search(query, options));
  }

  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    return this.#whileKept(() => this.#searchByReference(query, parameter, targets, options));
  }

  history(key: ResourceKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage> {
    return this.#whileKept(() => this.#history(key, page, options));
  }

  typeHistory(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    return this.#whileKept(() => this.#typeHistory(query, options));
  }

  /**
   * A short read is done at once, in one turn.
   *
   * @returns undefined for a long read, and for one that meets a removal
   */
  #readNow(
    keys: readonly ResourceKey[],
    counts: CallTexts,
    options?: CallOptions,
  ): Promise<readonly ReadResult[]> | undefined {
    if (keys.length > this.#slice || this.calls.isTurnSpent) return undefined;
    const { losses } = this.connection.status;
    try {
      const results = this.calls.runUnchecked(options, () => this.#readCounted(keys, counts));
      return this.#hasLost(losses) ? undefined : Promise.resolve(results);
    } catch (error) {
      if (this.#isOutdated(error, losses)) return undefined;
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it passes on what the work threw
      return Promise.reject(error);
    }
  }

  /** A few texts are counted when they are there, which takes no statement. */
  #readCounted(keys: readonly ResourceKey[], counts: CallTexts): readonly ReadResult[] {
    const { reads, contents } = this.connection;
    if (counts.isDone || keys.length > FEW) return reads.read(keys, counts);
    const before = contents.read;
    const results = reads.read(keys);
    counts.once(() => counts.takes(contents.read - before));
    return results;
  }

  async #read(keys: readonly ResourceKey[], counts: CallTexts, options?: CallOptions): Promise<readonly ReadResult[]> {
    const { reads } = this.connection;
    if (this.calls.isTurnSpent) await this.calls.nextTurn();
    if (keys.length <= this.#slice) {
      return this.calls.runUnchecked(options, () => this.#readCounted(keys, counts));
    }
    if (keys.length <= this.connection.contents.textsAtOnce && reads.readsTextsOf(keys)) {
      const texts = this.calls.runUnchecked(options, () => {
        reads.count(keys, counts);
        return reads.textsOf(keys);
      });
      return this.#inSlices(keys.length, options, (start, end) =>
        reads.resultsOfTexts(keys.slice(start, end), texts.slice(start, end)),
      );
    }
    const states = this.calls.runUnchecked(options, () => reads.statesOf(keys));
    const { contents, elements } = this.calls.runUnchecked(options, () => reads.contentsOf(keys, states, counts));
    const resources = await this.#load(contents, elements, options);
    return this.calls.runUnchecked(options, () => reads.resultsOf(keys, states, resources));
  }

  async #search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    await this.indexes.ready(options);
    const elements = (): typeof query.elements => query.elements;
    const { contents } = this.connection;
    const cut = (page: KeyPage): KeyPage => {
      const texts = new CallTexts(options, query.shortens);
      if (query.before === undefined) return { ...page, keys: page.keys.slice(0, contents.fitting(page.keys, texts)) };
      // A shorter page keeps what is next to the position that bounds it.
      const fitting = contents.fitting(page.keys.toReversed(), texts);
      return { ...page, keys: page.keys.slice(page.keys.length - fitting) };
    };
    const found = await this.calls.call('search', [query], options, () => this.#readAhead(options));
    const page = this.calls.runUnchecked(options, () => cut(found));
    return filled(page, await this.#load(page.keys, elements, options));
  }

  async #searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    await this.indexes.ready(options);
    const { contents } = this.connection;
    const elements = (): typeof query.elements => query.elements;
    const counts = new CallTexts(options);
    const args = [query, parameter, targets, contents.textsWithPage] as const;
    const found = await this.calls.call('search-by-reference', [...args], options, () => this.#readAhead(options));
    const pages = this.calls.runUnchecked(options, () => this.#counted(found, counts, options));
    const [first] = pages;
    const texts = first?.texts;
    if (texts !== undefined) {
      return this.calls.runUnchecked(options, () => [filled(first!, contents.parse(texts, elements))]);
    }
    const resources = await this.#load(
      pages.flatMap(({ keys }) => keys),
      elements,
      options,
    );
    let start = 0;
    return pages.map((page) => filled(page, resources.slice(start, (start += page.keys.length))));
  }

  /** Reads what an interrupted search needs of segments. A thread would have to read it for itself. */
  #readAhead(options: CallOptions | undefined): Promise<void> | undefined {
    const { database, segments } = this.connection;
    return segments.readAhead((work) => this.calls.run(options, () => asOfNow(database, work)));
  }

  /** @throws FhirError `too-costly` */
  #counted(pages: readonly KeyPage[], counts: CallTexts, options: CallOptions | undefined): readonly KeyPage[] {
    const keys = pages.flatMap((page) => page.keys);
    assertFewResources(keys.length, options);
    const [first] = pages;
    counts.once(() =>
      first?.texts === undefined
        ? this.connection.contents.fitting(keys, counts)
        : counts.takes(first.texts.reduce((sum, kept) => sum + (kept?.[3]?.length ?? 0), 0)),
    );
    return pages;
  }

  /** The texts are read a few at a time. A page of versions may have gigabytes of them. */
  async #history(key: ResourceKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage> {
    if (this.calls.isTurnSpent) await this.calls.nextTurn();
    const { database, statements, dictionaries, contents } = this.connection;
    const find = (): VersionPage => findVersions(statements, dictionaries, key, page);
    const all = this.calls.runUnchecked(options, () => asOfNow(database, find));
    const sizes = all.versions.map(([, , , octets]) => octets ?? 0);
    const fitting = new CallTexts(options, page.shortens).fitting(sizes);
    const found = { ...all, versions: all.versions.slice(0, fitting) };
    const { versions, total } = found;
    const entries = await this.#inSlices(versions.length, options, (start, end) =>
      entriesOf(found, contents, start, end),
    );
    return { entries, total };
  }

  async #typeHistory(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    await this.indexes.ready(options);
    if (this.calls.isTurnSpent) await this.calls.nextTurn();
    const { database, statements, dictionaries, contents } = this.connection;
    const find = (): readonly number[] => typeHistoryKeys(statements, dictionaries, query);
    const keys = this.calls.runUnchecked(options, () => {
      const all = asOfNow(database, find);
      return all.slice(0, contents.fitting(all, new CallTexts(options, query.shortens)));
    });
    return this.#inSlices(keys.length, options, (start, end) =>
      versionsOf(statements, contents, keys.slice(start, end)),
    );
  }

  /**
   * Runs a read again if another connection came between. It may have removed what the first statements found, put the file
   * back to an earlier copy, to which the caches do not belong, or dropped indexes for the first commit of a load.
   *
   * Removals may come faster than reads end, so they repeat a read once: the second time it has looked up all names itself.
   */
  async #whileKept<Result>(read: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const { losses } = this.connection.status;
      try {
        const result = await read();
        if (attempt > 1 || !this.#hasLost(losses)) return result;
      } catch (error) {
        if (attempt >= ATTEMPTS.read || !this.#isOutdated(error, losses)) throw error;
        this.connection.valueIndexes.forget();
      }
    }
  }

  /** Looked up once, after the read, because looking takes as long as reading the state of a resource. */
  #hasLost(losses: number): boolean {
    return this.calls.run(undefined, () => this.connection.status.losses !== losses);
  }

  /** Whether the error comes from what another connection did in the meantime. */
  #isOutdated(error: unknown, losses: number): boolean {
    if (isTextLost(error) || isIndexDropped(error)) return true;
    return error instanceof FhirError && error.code === 'corrupt' && this.#hasLost(losses);
  }

  /** The resources of versions, which never change: between some of them others have their turn. */
  async #load(
    keys: readonly number[],
    elements: ElementsAt,
    options: CallOptions | undefined,
  ): Promise<readonly StoredResource[]> {
    const { contents } = this.connection;
    if (keys.length <= this.#slice) return this.calls.runUnchecked(options, () => contents.load(keys, elements));
    if (!contents.isCaching) return this.#loadUncached(keys, elements, options);
    return this.#inSlices(keys.length, options, (start, end) =>
      contents.load(keys.slice(start, end), (position) => elements(start + position)),
    );
  }

  /** One statement reads the texts of many slices. A cache would keep what is removed before a slice is parsed. */
  async #loadUncached(
    keys: readonly number[],
    elements: ElementsAt,
    options: CallOptions | undefined,
  ): Promise<readonly StoredResource[]> {
    const { contents } = this.connection;
    let texts: ReturnType<Contents['textsOf']> = [];
    let first = 0;
    return this.#inSlices(keys.length, options, (start, end) => {
      if (start >= first + texts.length) {
        first = start;
        texts = contents.textsOf(keys.slice(start, start + Math.max(contents.textsAtOnce, end - start)));
      }
      return contents.parse(texts.slice(start - first, end - first), (position) => elements(start + position));
    });
  }

  /** Gathers what is found between two positions at a time; others have their turn between some of them. */
  async #inSlices<Result>(
    length: number,
    options: CallOptions | undefined,
    find: (start: number, end: number) => readonly Result[],
  ): Promise<readonly Result[]> {
    const results: Result[] = [];
    while (results.length < length) {
      if (this.calls.isTurnSpent) await this.calls.nextTurnOfLong();
      const start = results.length;
      // After a long text the slice is shorter.
      const end = Math.min(length, start + this.#slice);
      results.push(...this.calls.runUnchecked(options, () => find(start, end)));
    }
    return results;
  }

  get #slice(): number {
    return Math.min(THREAD_TUNING.slice, this.connection.contents.slice);
  }
}

/** How many keys a read counts by their texts, after it has read them. */
const FEW = 4;

function filled({ total }: KeyPage, matches: readonly StoredResource[]): SearchPage {
  return total === undefined ? { matches } : { matches, total };
}
