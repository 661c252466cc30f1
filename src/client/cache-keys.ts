import { CACHE_KEY } from './cache-key.js';
import { RESOURCE_TYPES } from './resource-types.js';

/** An object of an answer, as a cache receives it. */
export interface KeyedObject {
  readonly [field: string]: unknown;
}

/**
 * For Apollo Client: `new InMemoryCache({ dataIdFromObject, possibleTypes })`. Objects without `cache_key` are kept inside
 * the object around them, also where they have an `id`: the ids of elements and of contained resources are unique within
 * one resource only.
 *
 * @returns undefined for an object that has no key
 */
export function dataIdFromObject(object: KeyedObject): string | undefined {
  const key = object[CACHE_KEY];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

/** For Relay: `new Store(source, { getDataID })`, with `"nodeInterfaceIdField": "cache_key"` in the compiler's `schemaConfig`. */
export function getDataID(object: KeyedObject, _typename?: string): string | undefined {
  return dataIdFromObject(object);
}

/**
 * For urql's Graphcache: `cacheExchange({ keys })`. It covers every type, because Graphcache would otherwise key any
 * object with an `id` by that `id`.
 */
export const keys: { [typename: string]: (object: KeyedObject) => string | null } = new Proxy(Object.create(null), {
  get: (_, typename) =>
    typeof typename === 'string' ? (object: KeyedObject) => dataIdFromObject(object) ?? null : undefined,
});

/** For Apollo Client: which types a fragment on `Resource` applies to. The resource types of R4. */
export const possibleTypes: { readonly Resource: string[] } = { Resource: [...RESOURCE_TYPES] };
