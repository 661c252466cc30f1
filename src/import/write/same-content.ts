import type { AnyResource } from '../../fhir/resource.js';

/** True when two resources say the same, whatever their `meta` says of version, time, author and project. Order is free. */
export function sameContent(a: AnyResource, b: AnyResource): boolean {
  return sameObject(withoutStamps(a), withoutStamps(b));
}

type Json = { readonly [name: string]: unknown };

/** What is written into `meta` by the store and the guard before it. */
const STAMPED: ReadonlySet<string> = new Set(['versionId', 'lastUpdated', 'author', 'project']);

/** Without what is {@link STAMPED}, and without a `meta` that has nothing else. */
function withoutStamps(resource: AnyResource): Json {
  const { meta, ...elements } = resource as AnyResource & Json;
  const rest = Object.entries(meta ?? {}).filter(([name]) => !STAMPED.has(name));
  return rest.length === 0 ? elements : { ...elements, meta: Object.fromEntries(rest) };
}

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (!Array.isArray(a)) return !Array.isArray(b) && sameObject(a as Json, b as Json);
  return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]));
}

function sameObject(a: Json, b: Json): boolean {
  const names = presentNames(a);
  return (
    names.length === presentNames(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]))
  );
}

/** JSON has no `undefined`: a resource built in code may. */
function presentNames(object: Json): readonly string[] {
  return Object.keys(object).filter((name) => object[name] !== undefined);
}
