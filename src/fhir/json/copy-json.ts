import { decimalTextsOf, hideDecimalTexts, setDecimalTexts } from './decimal-texts.js';

/**
 * A deep copy of plain JSON for code of the host. Unlike `structuredClone` it keeps the texts of decimals, hidden.
 * Recursive: the depth must have been bounded before.
 */
export function copyForHost<Value>(value: Value): Value {
  return copy(value, true) as Value;
}

/** A deep copy of plain JSON from code of the host, in which hidden texts of decimals are visible to spread. */
export function copyFromHost<Value>(value: Value): Value {
  return copy(value, false) as Value;
}

function copy(value: unknown, hidden: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copy(item, hidden));
  const copied: { [name: string]: unknown } = {};
  for (const name of Object.keys(value)) {
    copied[name] = copy((value as { readonly [name: string]: unknown })[name], hidden);
  }
  const texts = decimalTextsOf(value);
  if (texts !== undefined) setDecimalTexts(copied, texts);
  return hidden ? hideDecimalTexts(copied) : copied;
}
