import { type AnyResource, elementsOf } from '../fhir/resource.js';

/**
 * The resource as a store keeps it: with its version and instant in `meta`, all other content of `meta` untouched.
 *
 * @param versionId the decimal counter or whatever else the store numbers versions by.
 * @param lastUpdated ISO 8601 instant, UTC.
 */
export function withVersion(resource: AnyResource, versionId: string, lastUpdated: string): AnyResource {
  const { resourceType, id, meta, ...rest } = elementsOf(resource) as AnyResource & { [name: string]: unknown };
  return { resourceType, id, meta: { ...meta, versionId, lastUpdated }, ...rest };
}

/** The instant of a new version: now, but never before the version it replaces. Milliseconds since 1970. */
export function nextInstant(now: number, previous: number | undefined): number {
  return previous === undefined ? now : Math.max(now, previous);
}
