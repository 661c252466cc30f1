import type { JsonObject } from '../resource.js';
import { decimalText, decimalTextsOf } from './decimal-texts.js';

/**
 * True for values with equal JSON, regardless of key order and of how decimals are written: `1` equals `1.00`.
 * `undefined` members count as absent.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  return same(a, b, false);
}

/** {@link sameJson} that also compares how decimals are written: `1` differs from `1.00`. */
export function sameJsonText(a: unknown, b: unknown): boolean {
  return same(a, b, true);
}

function same(a: unknown, b: unknown, texts: boolean): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (!Array.isArray(a)) return !Array.isArray(b) && sameObject(a as JsonObject, b as JsonObject, texts);
  return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index], texts));
}

function sameObject(a: JsonObject, b: JsonObject, texts: boolean): boolean {
  const names = presentNames(a);
  return (
    names.length === presentNames(b).length &&
    names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name], texts)) &&
    (!texts || sameTexts(a, b))
  );
}

/** For objects with equal values. */
function sameTexts(a: JsonObject, b: JsonObject): boolean {
  const names = new Set([...Object.keys(decimalTextsOf(a) ?? {}), ...Object.keys(decimalTextsOf(b) ?? {})]);
  return [...names].every((name) => {
    const value = a[name];
    if (!Array.isArray(value)) return decimalText(a, name) === decimalText(b, name);
    return value.every((_, index) => decimalText(a, name, index) === decimalText(b, name, index));
  });
}

/** Resources built in code may have `undefined` members; JSON does not. */
function presentNames(object: JsonObject): readonly string[] {
  return Object.keys(object).filter((name) => object[name] !== undefined);
}
