import type { JsonObject } from '../resource.js';

/** True for values with equal JSON, regardless of key order; `undefined` members count as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (!Array.isArray(a)) return !Array.isArray(b) && sameObject(a as JsonObject, b as JsonObject);
  return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
}

function sameObject(a: JsonObject, b: JsonObject): boolean {
  const names = presentNames(a);
  return (
    names.length === presentNames(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name]))
  );
}

/** Resources built in code may have `undefined` members; JSON does not. */
function presentNames(object: JsonObject): readonly string[] {
  return Object.keys(object).filter((name) => object[name] !== undefined);
}
