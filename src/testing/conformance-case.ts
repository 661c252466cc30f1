import type { AnyResource } from '../fhir/resource.js';
import { ALL, type Criteria } from '../search/criteria/criteria.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { SearchQuery } from '../store/search-query.js';
import type { ResourceStore } from '../store/store.js';
import type { PutWrite, Write, WriteResult } from '../store/write.js';

/** Cases of one concern. */
export interface ConformanceSuite {
  readonly name: string;
  readonly cases: readonly ConformanceCase[];
}

/** One promise of the contract. */
export interface ConformanceCase {
  readonly name: string;
  /** Receives an empty store, which is closed afterwards. Fails by throwing. `effort` is a factor on random cases. */
  readonly run: (store: ResourceStore, random: () => number, effort: number) => Promise<void>;
}

/** The project that most cases use. */
export const PROJECT = 'clinic';

export function keyOf(type: string, id: string, project = PROJECT): ResourceKey {
  return { project, type, id };
}

/** A resource from its type, id and elements. */
export function resourceOf(type: string, id: string, elements: { readonly [name: string]: unknown } = {}): AnyResource {
  return { resourceType: type, id, ...elements };
}

/** The write that creates or changes a resource. */
export function put(
  resource: AnyResource,
  options: Omit<PutWrite, 'kind' | 'key' | 'resource'> = {},
  project = PROJECT,
): PutWrite {
  return { kind: 'put', key: keyOf(resource.resourceType, resource.id!, project), resource, ...options };
}

/** Writes resources in one commit. */
export function putAll(store: ResourceStore, ...resources: readonly AnyResource[]): Promise<readonly WriteResult[]> {
  return store.commit(resources.map((resource): Write => put(resource)));
}

/** A query of {@link PROJECT}. */
export function queryOf(type: string, criteria: Criteria = ALL, page: Partial<SearchQuery> = {}): SearchQuery {
  return { project: PROJECT, type, criteria, ...page };
}

/** The ids of a search's matches, in order. */
export async function idsOf(store: ResourceStore, query: SearchQuery): Promise<readonly (string | undefined)[]> {
  const { matches } = await store.search(query);
  return matches.map(({ resource }) => resource.id);
}
