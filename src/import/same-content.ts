import type { AnyResource } from '../fhir/resource.js';

/** True when two resources say the same, whatever version and time their `meta` bears. Order of elements is free. */
export function sameContent(a: AnyResource, b: AnyResource): boolean {
  return sameObject(withoutVersion(a), withoutVersion(b));
}

type Json = { readonly [name: string]: unknown };

/** Without what a store sets, and without a `meta` that has nothing else. */
function withoutVersion(resource: AnyResource): Json {
  const { meta, ...elements } = resource as AnyResource & Json;
  const { versionId: _versionId, lastUpdated: _lastUpdated, ...rest } = (meta ?? {}) as Json;
  return Object.keys(rest).length === 0 ? elements : { ...elements, meta: rest };
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
