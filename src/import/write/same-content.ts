import { sameJsonText } from '../../fhir/json/same-json.js';
import type { AnyResource, JsonObject } from '../../fhir/resource.js';

/**
 * True if two resources are equal apart from version, time, author and project in `meta`. Key order is ignored, but not
 * the digits of decimals: importing `1.00` over `1` creates a version.
 */
export function sameContent(a: AnyResource, b: AnyResource): boolean {
  return sameJsonText(withoutStamps(a), withoutStamps(b));
}

/** Written into `meta` by the store and the guard. */
const STAMPED: ReadonlySet<string> = new Set(['versionId', 'lastUpdated', 'author', 'project']);

/** Removes {@link STAMPED} members, and a `meta` without others. */
function withoutStamps(resource: AnyResource): JsonObject {
  const { meta, ...elements } = resource as AnyResource & JsonObject;
  const rest = Object.entries(meta ?? {}).filter(([name]) => !STAMPED.has(name));
  return rest.length === 0 ? elements : { ...elements, meta: Object.fromEntries(rest) };
}
