import { oncePer } from '../../platform/collections.js';
import type { Container } from '../../fhir/container.js';
import { elementsOf, isJsonObject, isResourceId, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import type { Run } from './run.js';

/**
 * The key under which a client's cache may keep a resource. Equal keys identify the same resource.
 *
 * | resource | key |
 * |---|---|
 * | stored | `Patient/1` |
 * | stored, behind a reference to a version | `Patient/1/_history/2` |
 * | contained | `MedicationRequest/1/_history/3#med` |
 * | contained without an id; inside a Bundle | `Bundle/1/_history/3#entry[0].resource` |
 * | resolved by the host from outside | its URL |
 *
 * Resources inside another are identified within one version only: the next version may reuse the id `med` for another
 * medication, and a cache would combine the name of one with the dose of the other.
 *
 * @returns null if a part of the key is missing or hidden from the caller; clients then cache the resource as part of
 * its container
 */
export function cacheKeyOf(source: JsonObject, { root }: Container, run: Run): string | null {
  const key = keyOf(root, run);
  if (key === null || source === elementsOf(root)) return key;
  const version = root.meta?.versionId;
  if (typeof version !== 'string') return null;
  const place = fragmentOf(source, root);
  const base = run.versions.has(root) ? key : withVersion(key, version);
  return place === undefined ? null : `${base}#${place}`;
}

function keyOf(container: AnyResource, run: Run): string | null {
  const url = run.foreign.get(container);
  if (url !== undefined) return url;
  const { resourceType, id, meta } = container;
  if (!isResourceId(id)) return null;
  if (!run.versions.has(container)) return `${resourceType}/${id}`;
  return typeof meta?.versionId === 'string' ? withVersion(`${resourceType}/${id}`, meta.versionId) : null;
}

function withVersion(key: string, version: string): string {
  return `${key}/_history/${version}`;
}

/** Names a resource inside another by its id if contained, otherwise by its path. */
function fragmentOf(source: JsonObject, container: AnyResource): string | undefined {
  const { id } = source;
  return isResourceId(id) && containedIn(container, id) === source ? id : pathsIn(container).get(source);
}

/** Resolves `#id` inside a resource: the first contained resource with that id. */
function containedIn(container: AnyResource, id: string): JsonObject | undefined {
  const { contained } = elementsOf(container);
  if (!Array.isArray(contained)) return undefined;
  return contained.find((resource): resource is JsonObject => isJsonObject(resource) && resource['id'] === id);
}

/** The paths of resources inside a resource, which execution never changes. */
const pathsIn: (container: AnyResource) => ReadonlyMap<object, string> = oncePer(findResources);

function findResources(container: AnyResource): ReadonlyMap<object, string> {
  const paths = new Map<object, string>();
  const seen = new Set<object>();
  const open: [value: object, path: string][] = [[container, '']];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, path] = next;
    // Resources resolved by the host may contain cycles.
    if (seen.has(value)) continue;
    seen.add(value);
    if (path !== '' && 'resourceType' in value) paths.set(value, path);
    for (const [name, inner] of Object.entries(value) as [string, unknown][]) {
      if (typeof inner !== 'object' || inner === null) continue;
      const step = Array.isArray(value) ? `[${name}]` : path === '' ? name : `.${name}`;
      open.push([inner, path + step]);
    }
  }
  return paths;
}
