import type { ErrorCode } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { CallOptions } from '../store/call-options.js';
import type { ChangePage } from '../store/changes.js';
import type { TypeHistoryEntry } from '../store/history.js';
import type { StoreRemoval } from '../store/removal.js';
import type { ReferenceTarget, ResourceKey } from '../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../store/search-query.js';
import type { ResourceStore, StoreCall } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';
import type { Terminology } from '../store/terminology.js';
import type { Write, WriteResult } from '../store/write.js';
import { type Attributes, CLIENT, codeOf, markFailed, Observer, type Telemetry } from './observer.js';

/**
 * Wraps a store to report its use to a tracer and a meter: its own calls, and the interactions, queries and sign-ins
 * that cause them. Without telemetry the overhead is one test per query.
 *
 * Spans of calls follow https://opentelemetry.io/docs/specs/semconv/database/database-spans/: the operation, the
 * resource type, and how many resources went in and came out. No ids, no values, no content.
 *
 * @returns a store that shares its lifetime with the given one: closing either closes both
 *
 * @example
 * const store = withTelemetry(new SqliteStore('clinic.db'), {
 *   tracer: trace.getTracer('fhirgraph'), meter: metrics.getMeter('fhirgraph'), system: 'sqlite',
 * });
 */
export function withTelemetry(store: ResourceStore, telemetry: Telemetry): ResourceStore {
  return observedBy(new Observer(telemetry), store);
}

function observedBy(observer: Observer, store: ResourceStore): ResourceStore {
  const observed = new ObservedStore(store, observer);
  // Omits optional methods that the store lacks.
  for (const name of ['accessEpoch', 'changes', 'explain', 'pendingParameters', 'typeHistory', 'watch'] as const) {
    if (store[name] === undefined) Object.defineProperty(observed, name, { value: undefined });
  }
  return observed;
}

/** @returns the observer of a store; undefined without telemetry */
export function observerOf(store: ResourceStore): Observer | undefined {
  return store instanceof ObservedStore ? store.observer : undefined;
}

/** A change of a store, below its telemetry. */
export function belowTelemetry(store: ResourceStore, change: (store: ResourceStore) => ResourceStore): ResourceStore {
  return store instanceof ObservedStore ? observedBy(store.observer, change(store.store)) : change(store);
}

class ObservedStore implements ResourceStore {
  constructor(
    readonly store: ResourceStore,
    readonly observer: Observer,
  ) {}

  get model(): FhirModel {
    return this.store.model;
  }

  get terminology(): Terminology | undefined {
    return this.store.terminology;
  }

  get maxResourceBytes(): number | undefined {
    return this.store.maxResourceBytes;
  }

  get maxResourceValues(): number | undefined {
    return this.store.maxResourceValues;
  }

  get readsAreCurrent(): boolean | undefined {
    return this.store.readsAreCurrent;
  }

  read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return this.#call('read', typeOf(keys), keys.length, () => this.store.read(keys, options), countFound);
  }

  search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    return this.#call('search', query.type, undefined, () => this.store.search(query, options), countMatches);
  }

  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    return this.#call(
      'search-by-reference',
      query.type,
      targets.length,
      () => this.store.searchByReference(query, parameter, targets, options),
      (pages) => pages.reduce((sum, page) => sum + countMatches(page), 0),
    );
  }

  commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    const types = writes.map((write) => (write.kind === 'assert-no-match' ? write.query : write.key));
    return this.#call(
      'commit',
      typeOf(types),
      writes.length,
      () => this.store.commit(writes, options),
      (results) => results.filter(({ kind }) => kind === 'put').length,
    );
  }

  history(...call: Parameters<ResourceStore['history']>): ReturnType<ResourceStore['history']> {
    return this.#call(
      'history',
      call[0].type,
      undefined,
      () => this.store.history(...call),
      ({ entries }) => entries.length,
    );
  }

  typeHistory(...call: Parameters<NonNullable<ResourceStore['typeHistory']>>): Promise<readonly TypeHistoryEntry[]> {
    return this.#call(
      'type-history',
      call[0].type,
      undefined,
      () => this.store.typeHistory!(...call),
      (entries) => entries.length,
    );
  }

  // Not a call of a request: it would outnumber them.
  accessEpoch(options?: CallOptions): Promise<string> {
    return this.store.accessEpoch!(options);
  }

  // Readers ask once a second, with or without a request.
  changes(...call: Parameters<NonNullable<ResourceStore['changes']>>): Promise<ChangePage> {
    return this.store.changes!(...call);
  }

  watch(...call: Parameters<NonNullable<ResourceStore['watch']>>): () => void {
    return this.store.watch!(...call);
  }

  explain(call: StoreCall, options?: CallOptions): ReturnType<NonNullable<ResourceStore['explain']>> {
    return this.store.explain!(call, options);
  }

  pendingParameters(
    ...call: Parameters<NonNullable<ResourceStore['pendingParameters']>>
  ): ReturnType<NonNullable<ResourceStore['pendingParameters']>> {
    return this.store.pendingParameters!(...call);
  }

  get removal(): StoreRemoval | undefined {
    const { removal } = this.store;
    if (removal === undefined) return undefined;
    return {
      purgeHistory: (request, options) =>
        this.#call(
          'purge-history',
          request.type,
          undefined,
          () => removal.purgeHistory(request, options),
          ({ versions }) => versions,
        ),
      removeProject: (project, options) =>
        this.#call(
          'remove-project',
          undefined,
          undefined,
          () => removal.removeProject(project, options),
          ({ resources }) => resources,
        ),
      scrub: (options) =>
        this.#call(
          'scrub',
          undefined,
          undefined,
          () => removal.scrub(options),
          () => 0,
        ),
    };
  }

  close(): Promise<void> {
    return this.store.close();
  }

  #call<Result>(
    operation: string,
    type: string | undefined,
    batch: number | undefined,
    work: () => Promise<Result>,
    rowsOf: (result: Result) => number,
  ): Promise<Result> {
    const { observer } = this;
    const facts: Attributes = {
      'db.operation.name': operation,
      ...(type === undefined ? {} : { 'db.collection.name': type }),
    };
    const attributes: Attributes = {
      ...observer.storeAttributes,
      ...facts,
      ...(batch === undefined ? {} : { 'db.operation.batch.size': batch }),
    };
    const name = type === undefined ? operation : `${operation} ${type}`;
    return observer.span({ name, kind: CLIENT, attributes }, async (span) => {
      try {
        const result = await work();
        const rows = rowsOf(result);
        span.setAttribute('db.response.returned_rows', rows);
        observer.instruments?.storeCalls.add(1, { ...facts });
        observer.instruments?.storeRows.add(rows, { ...facts });
        return result;
      } catch (error) {
        observer.instruments?.storeCalls.add(1, { ...facts, 'error.type': codeOf(error) });
        throw error;
      }
    });
  }
}

/** The type of all, if they are of one. */
function typeOf(things: readonly { readonly type: string }[]): string | undefined {
  const type = things[0]?.type;
  return things.every((thing) => thing.type === type) ? type : undefined;
}

function countFound(results: readonly ReadResult[]): number {
  return results.filter(({ status }) => status === 'found').length;
}

function countMatches(page: SearchPage): number {
  return page.matches.length;
}

/** Facts about an interaction that become known while it runs. */
export interface ObservedFacts {
  /** Set if the interaction answers although it failed, like a query with errors. */
  readonly failure?: ErrorCode | undefined;
  /** Additional attributes of the interaction's span. */
  readonly attributes?: Attributes | undefined;
}

/**
 * Runs an interaction on a store inside its own span and counts it; without telemetry it only runs.
 *
 * @param interaction `graphql`, `invite`, `sign-in`
 */
export function observed<Result>(
  store: ResourceStore,
  interaction: string,
  facts: ObservedFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  const observer = observerOf(store);
  return observer === undefined ? work() : observe(observer, interaction, facts, work);
}

function observe<Result>(
  observer: Observer,
  interaction: string,
  facts: ObservedFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  const clock = performance.now();
  const attributes = { 'fhirgraph.interaction': interaction };
  const count = (outcome: ErrorCode | 'success'): void => {
    const kind = { ...attributes, 'fhirgraph.outcome': outcome };
    observer.instruments?.interactions.add(1, kind);
    observer.instruments?.duration.record((performance.now() - clock) / 1000, kind);
  };
  return observer.span({ name: `fhirgraph.${interaction}`, attributes }, async (span) => {
    try {
      const result = await work();
      for (const [name, value] of Object.entries(facts.attributes ?? {})) span.setAttribute(name, value);
      if (facts.failure !== undefined) markFailed(span, facts.failure);
      count(facts.failure ?? 'success');
      return result;
    } catch (error) {
      count(codeOf(error));
      throw error;
    }
  });
}
