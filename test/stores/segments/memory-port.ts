import type { AnyResource } from '../../../src/index.js';
import { type Criteria, type FhirModel, indexEntries, matches, R4 } from '../../../src/store.js';
import { parameterFingerprints } from '../../../src/search/index/parameter-fingerprints.js';
import type { SyncPort } from '../../../src/stores/ask.js';
import type { KnownParameters } from '../../../src/stores/segments/build-segment.js';
import type {
  IndexedResource,
  RowKey,
  SegmentChange,
  SegmentList,
  SegmentPort,
  StoredState,
  WrittenResource,
} from '../../../src/stores/segments/port.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';

/** The fingerprints of R4's parameters. */
export function fingerprintsOf(type: string): KnownParameters {
  return parameterFingerprints(R4)[type] ?? {};
}

/** The resources and the segments of a project in memory. */
export class MemoryPort implements SyncPort<SegmentPort> {
  readonly current = new Map<string, Map<string, AnyResource>>();
  readonly #lists = new Map<string, SegmentList>();
  readonly #rows = new Map<string, ReadonlyMap<string, Uint8Array>>();
  readonly #written = new Map<string, Map<string, WrittenResource>>();
  #stamp = 0;
  #world: ReferenceSearch | undefined;
  /** The questions that were asked, by name. */
  readonly asked: string[] = [];

  constructor(readonly model: FhirModel = R4) {}

  /** Creates or changes a resource, which has `meta.lastUpdated`. */
  put(resource: AnyResource): void {
    this.#ofType(this.current, resource.resourceType).set(resource.id!, resource);
    this.#note(resource.resourceType, resource.id!);
  }

  delete(type: string, id: string): void {
    this.#ofType(this.current, type).delete(id);
    this.#note(type, id);
  }

  /** Begins a transaction. @returns what rolls it back */
  begin(): () => void {
    const current = [...this.current].map(([type, one]) => [type, new Map(one)] as const);
    const written = [...this.#written].map(([type, one]) => [type, new Map(one)] as const);
    return () => {
      this.current.clear();
      this.#written.clear();
      for (const [type, one] of current) this.current.set(type, one);
      for (const [type, one] of written) this.#written.set(type, one);
      this.#world = undefined;
    };
  }

  #note(type: string, id: string): void {
    this.#ofType(this.#written, type).set(id, { id, stamp: (this.#stamp += 1) });
    this.#world = undefined;
  }

  #ofType<Value>(maps: Map<string, Map<string, Value>>, type: string): Map<string, Value> {
    const known = maps.get(type) ?? new Map<string, Value>();
    maps.set(type, known);
    return known;
  }

  /** The reference search over the current resources. */
  get world(): ReferenceSearch {
    return (this.#world ??= new ReferenceSearch(
      this.model,
      [...this.current.values()].flatMap((one) => [...one.values()]),
    ));
  }

  list(type: string): SegmentList | undefined {
    return this.#lists.get(type);
  }

  /** All stored rows, for tests that damage or measure them. */
  get stored(): ReadonlyMap<string, ReadonlyMap<string, Uint8Array>> {
    return this.#rows;
  }

  states(types: readonly string[]): readonly StoredState[] {
    this.asked.push('states');
    return types.map((type) => ({
      list: this.#lists.get(type),
      written: [...(this.#written.get(type)?.values() ?? [])],
    }));
  }

  rows(keys: readonly RowKey[]): readonly (Uint8Array | undefined)[] {
    this.asked.push('rows');
    return keys.map(({ segment, name }) => this.#rows.get(segment)?.get(name));
  }

  resources(type: string, ids: readonly string[]): readonly IndexedResource[] {
    const own = this.current.get(type);
    return ids.flatMap((id) => {
      const resource = own?.get(id);
      return resource === undefined ? [] : [indexed(this.model, resource)];
    });
  }

  resourcesAfter(type: string, after: string | undefined, limit: number): readonly IndexedResource[] {
    const ids = [...(this.current.get(type)?.keys() ?? [])].filter((id) => after === undefined || id > after).sort();
    return this.resources(type, ids.slice(0, limit));
  }

  matching(type: string, criteria: Criteria, ids: readonly string[]): readonly string[] {
    this.asked.push('matching');
    const { world } = this;
    return ids.filter((id) => matches(criteria, world.find(type, id)!, world));
  }

  write(type: string, { expected, list, added, dropped, covered }: SegmentChange): boolean {
    if (this.#lists.get(type)?.id !== expected) return false;
    this.#lists.set(type, list);
    for (const [id, rows] of added) this.#rows.set(id, rows);
    for (const id of dropped) this.#rows.delete(id);
    const written = this.#ofType(this.#written, type);
    for (const { id, stamp } of covered) if (written.get(id)?.stamp === stamp) written.delete(id);
    return true;
  }
}

function indexed(model: FhirModel, resource: AnyResource): IndexedResource {
  const entries = indexEntries(model, resource);
  return { id: resource.id!, lastUpdated: Date.parse(resource.meta!.lastUpdated!), entries };
}
