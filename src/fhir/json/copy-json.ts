import { mapInTurns, Pace } from '../../platform/pace.js';
import { decimalTextsOf, hideDecimalTexts, setDecimalTexts } from './decimal-texts.js';

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
