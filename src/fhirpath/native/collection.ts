/** A collection of JSON values, all of the type that was found at compile time. */
export type Items = readonly unknown[];

/** Evaluates an expression for the items it starts from (`$this`). */
export type Evaluate = (self: Items) => Items;

/** Thrown to leave an evaluation to the library. */
export const BAIL: unique symbol = Symbol('bail');

export const EMPTY: Items = Object.freeze([]);
export const TRUE: Items = Object.freeze([true]);
export const FALSE: Items = Object.freeze([false]);

export function bail(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- PERF: no stack trace for a signal of our own.
  throw BAIL;
}

/**
 * An operand of logic: true, false or undefined for empty. One item that is no boolean counts as true.
 * See https://hl7.org/fhirpath/N1/#singleton-evaluation-of-collections.
 */
export function asBoolean(items: Items): boolean | undefined {
  if (items.length === 0) return undefined;
  if (items.length > 1) bail();
  return items[0] !== false;
}

export function fromBoolean(value: boolean | undefined): Items {
  return value === undefined ? EMPTY : value ? TRUE : FALSE;
}
