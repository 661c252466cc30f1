import { sameJson } from '../../fhir/json/same-json.js';
import type { AnyResource, JsonObject } from '../../fhir/resource.js';

/** True when two resources say the same, whatever their `meta` says of version, time, author and project. Order is free. */
export function sameContent(a: AnyResource, b: AnyResource): boolean {
  return sameJson(withoutStamps(a), withoutStamps(b));
}

/** What is written into `meta` by the store and the guard before it. */
const STAMPED: ReadonlySet<string> = new Set(['versionId', 'lastUpdated', 'author', 'project']);

/** Without what is {@link STAMPED}, and without a `meta` that has nothing else. */
function withoutStamps(resource: AnyResource): JsonObject {
  const { meta, ...elements } = resource as AnyResource & JsonObject;
  const rest = Object.entries(meta ?? {}).filter(([name]) => !STAMPED.has(name));
  return rest.length === 0 ? elements : { ...elements, meta: Object.fromEntries(rest) };
}
