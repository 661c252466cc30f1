import { elementsOf, isResourceId, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { containedIn } from './contained.js';
import type { Run } from './run.js';

/**
 * The key under which a client's cache may keep a resource. Two answers with the same key are about the same thing.
 *
 * | resource | key |
 * |---|---|
 * | stored | `Patient/1` |
 * | stored, behind a reference to a version | `Patient/1/_history/2` |
 * | contained | `MedicationRequest/1/_history/3#med` |
 * | contained without an id of its own; inside a Bundle | `Bundle/1/_history/3#entry[0].resource` |
 * | resolved by the host from outside | its URL |
 *
 * What stands inside a resource has its identity within one version only: the next version may give the id `med` to another
 * medication, and a cache would put the name of one beside the dose of the other.
 *
 * @returns null where what makes the key is missing or hidden from the caller: such a resource stays inside the one around it
 */
export function cacheKeyOf(source: JsonObject, container: AnyResource, run: Run): string | null {
  const key = keyOf(container, run);
  if (key === null || source === elementsOf(container)) return key;
  const version = container.meta?.versionId;
  if (typeof version !== 'string') return null;
  const place = fragmentOf(source, container);
  const base = run.versions.has(container) ? key : withVersion(key, version);
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

/** How a place inside a resource is named: by the id of a contained resource, or by the path to it. */
function fragmentOf(source: JsonObject, container: AnyResource): string | undefined {
  const { id } = source;
  return isResourceId(id) && containedIn(container, id) === source ? id : pathsIn(container).get(source);
}

/** The paths of the resources inside one, which execution never changes. */
function pathsIn(container: AnyResource): ReadonlyMap<object, string> {
  let paths = PATHS.get(container);
  if (paths === undefined) PATHS.set(container, (paths = findResources(container)));
  return paths;
}

const PATHS = new WeakMap<AnyResource, ReadonlyMap<object, string>>();

function findResources(container: AnyResource): ReadonlyMap<object, string> {
  const paths = new Map<object, string>();
  const seen = new Set<object>();
  const open: [value: object, path: string][] = [[container, '']];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, path] = next;
    // What a host has resolved may lead back to itself.
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
