import { inTurns, Pace } from '../../platform/pace.js';
import { decimalTextsOf, hideDecimalTexts, setDecimalTexts } from './decimal-texts.js';
import { isLong, isPart } from './parts.js';

/**
 * A deep copy of plain JSON for code of the host. Unlike `structuredClone` it keeps the texts of decimals, hidden.
 * Recursive: the depth must have been bounded before.
 */
export function copyForHost<Value>(value: Value): Value {
  return copy(value, true) as Value;
}

/** {@link copyForHost} for values of any size: a long value is copied in parts, and other work runs between them. */
export async function copyForHostInTurns<Value>(value: Value): Promise<Value> {
  if (!isLong(value)) return copyForHost(value);
  return (await inTurns(copying(value as object, true), new Pace())) as Value;
}

/** A deep copy of plain JSON from code of the host, in which hidden texts of decimals are visible to spread. */
export function copyFromHost<Value>(value: Value): Value {
  return copy(value, false) as Value;
}

/** {@link copyFromHost} in steps. */
export function copyingFromHost<Value extends object>(value: Value): Generator<void, Value> {
  return copyingMember(value, false) as Generator<void, Value>;
}

type Copied = { [name: string]: unknown };

function copy(value: unknown, hidden: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copy(item, hidden));
  const copied: Copied = {};
  for (const name of Object.keys(value)) setMember(copied, name, copy((value as Copied)[name], hidden));
  return withTexts(value, copied, hidden);
}

/** {@link copy} in steps. */
function* copying(value: object, hidden: boolean): Generator<void, unknown> {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value as unknown[]) items.push(yield* copyingMember(item, hidden));
    return items;
  }
  const copied: Copied = {};
  for (const name of Object.keys(value)) setMember(copied, name, yield* copyingMember((value as Copied)[name], hidden));
  return withTexts(value, copied, hidden);
}

function* copyingMember(value: unknown, hidden: boolean): Generator<void, unknown> {
  if (!isPart(value)) return yield* copying(value as object, hidden);
  yield;
  return copy(value, hidden);
}

/** Sets an own member, even for the name `__proto__`. */
function setMember(copied: Copied, name: string, value: unknown): void {
  if (name !== '__proto__') copied[name] = value;
  else Object.defineProperty(copied, name, { value, enumerable: true, configurable: true, writable: true });
}

function withTexts(original: object, copied: Copied, hidden: boolean): Copied {
  const texts = decimalTextsOf(original);
  if (texts !== undefined) setDecimalTexts(copied, texts);
  return hidden ? hideDecimalTexts(copied) : copied;
}
