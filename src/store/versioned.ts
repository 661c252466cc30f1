import { type AnyResource, elementsOf } from '../fhir/resource.js';

/**
 * Adds the version and instant to a resource's `meta`; other members of `meta` are unchanged.
 *
 * @param versionId a decimal counter or any other version id of the store.
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
