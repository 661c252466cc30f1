import { mapInTurns, Pace } from '../../platform/pace.js';
import type { JsonObject } from '../resource.js';
import { decimalText, decimalTextsOf, hideDecimalTexts, setDecimalTexts } from './decimal-texts.js';

/**
 * A deep copy of plain JSON for code of the host. Unlike `structuredClone` it keeps the texts of decimals, hidden.
 * Recursive: the depth must have been bounded before.
 */
export function copyForHost<Value>(value: Value): Value {
  return copy(value, true) as Value;
}

/** {@link copyForHost} of a Bundle; other work runs between its entries. */
export async function copyBundleForHost<Bundle extends { entry?: unknown }>(bundle: Bundle): Promise<Bundle> {
  const { entry } = bundle;
  if (!Array.isArray(entry)) return copyForHost(bundle);
  const copied = copyForHost({ ...bundle, entry: [] }) as Bundle;
  copied.entry = await mapInTurns(entry, new Pace(), copyForHost);
  return copied;
}

/** A deep copy of plain JSON from code of the host, in which hidden texts of decimals are visible to spread. */
export function copyFromHost<Value>(value: Value): Value {
  return copy(value, false) as Value;
}

type Copied = { [name: string]: unknown };

function copy(value: unknown, hidden: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copy(item, hidden));
  const copied: Copied = {};
  for (const name of Object.keys(value)) setMember(copied, name, copy((value as Copied)[name], hidden));
  const texts = decimalTextsOf(value);
  if (texts !== undefined) setDecimalTexts(copied, texts);
  return hidden ? hideDecimalTexts(copied) : copied;
}

/** Sets an own member, even for the name `__proto__`. */
function setMember(copied: Copied, name: string, value: unknown): void {
  if (name !== '__proto__') copied[name] = value;
  else Object.defineProperty(copied, name, { value, enumerable: true, configurable: true, writable: true });
}

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
