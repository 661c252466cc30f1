import { isPlainObject, type JsonObject } from '../resource.js';

/**
 * Holds the texts of decimals that JavaScript would write differently, such as `1.00`: an object's own property, by
 * the name of the element.
 *
 * ```text
 * { value: 1, unit: 'kg', [DECIMAL_TEXTS]: { value: '1.00' } }
 * { precision: [1, 0.5], [DECIMAL_TEXTS]: { precision: ['1.00', undefined] } }
 * ```
 *
 * The numbers remain numbers. Inside the library the property is enumerable, so that spread and rest copy it. In what
 * leaves the library it is not: comparisons, assertions of tests and serializers (devalue rejects enumerable symbols)
 * see plain objects. `structuredClone` and copies through JSON lose it.
 *
 * A text counts only while it represents the current number, so changing the number is enough. The symbol is
 * registered, so that several copies of this package in one process share it.
 */
export const DECIMAL_TEXTS = Symbol.for('fhirgraph.decimalTexts');

/** The text of a number, or the texts of the numbers in a list. */
export type DecimalText = string | readonly (string | undefined)[];

type DecimalTexts = { readonly [name: string]: DecimalText | undefined };

type Holder = { [DECIMAL_TEXTS]?: DecimalTexts };

/** @returns undefined if the object holds no texts */
export function decimalTextsOf(object: object): DecimalTexts | undefined {
  return (object as Holder)[DECIMAL_TEXTS];
}

/** Replaces all texts of an object. They are frozen, since copies of the object share them. */
export function setDecimalTexts(object: object, texts: DecimalTexts): void {
  for (const text of Object.values(texts)) Object.freeze(text);
  (object as Holder)[DECIMAL_TEXTS] = Object.freeze(texts);
}

/** Makes the texts of an object invisible to comparisons, spread and serializers. @returns the object itself */
export function hideDecimalTexts<Value extends object>(object: Value): Value {
  if (decimalTextsOf(object) !== undefined) Object.defineProperty(object, DECIMAL_TEXTS, { enumerable: false });
  return object;
}

/** Gives a copy the texts of its original, which spread and rest leave out if they are hidden. @returns the copy */
export function keepDecimalTexts<Value extends object>(original: object, copy: Value): Value {
  const texts = decimalTextsOf(original);
  if (texts !== undefined && decimalTextsOf(copy) === undefined) (copy as Holder)[DECIMAL_TEXTS] = texts;
  return copy;
}

/** A shallow copy with the texts, also if they are hidden. */
export function copyObject<Value extends object>(object: Value): Value {
  return keepDecimalTexts(object, { ...object });
}

/**
 * The text of the number in an element, or of an item in a list of numbers.
 *
 * @returns undefined if JavaScript writes the number the same, or the text belongs to a former number
 */
export function decimalText(object: JsonObject, name: string, index?: number): string | undefined {
  const texts = decimalTextsOf(object)?.[name];
  if (texts === undefined) return undefined;
  const value = object[name];
  if (index === undefined) return isTextOf(texts, value) ? texts : undefined;
  const text: unknown = Array.isArray(texts) ? texts[index] : undefined;
  return Array.isArray(value) && isTextOf(text, value[index]) ? text : undefined;
}

/** Texts can also come from code of the host, so they are checked before they are written into JSON. */
function isTextOf(text: unknown, value: unknown): text is string {
  return (
    typeof text === 'string' &&
    typeof value === 'number' &&
    Object.is(Number(text), value) &&
    Number.isFinite(value) &&
    JSON_NUMBER.test(text)
  );
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Sets the text of the number in an element, or removes it. */
export function setDecimalText(object: object, name: string, text: DecimalText | undefined): void {
  const before = decimalTextsOf(object);
  if (before?.[name] === text) return;
  const texts: { [name: string]: DecimalText | undefined } = Object.assign(Object.create(null), before);
  if (text === undefined) Reflect.deleteProperty(texts, name);
  else texts[name] = text;
  if (Object.keys(texts).length === 0) Reflect.deleteProperty(object, DECIMAL_TEXTS);
  else setDecimalTexts(object, texts);
}

/** A shallow copy without the elements that are null. */
export function withoutNulls<Value extends object>(object: Value): Value {
  const copy = copyObject(object) as { [name: string]: unknown };
  for (const name of Object.keys(copy)) if (copy[name] === null) deleteElement(copy, name);
  return copy as Value;
}

/**
 * Adds the text of a number to a new object that has no copies yet.
 *
 * It changes the texts in place, since an object can have thousands of decimals; frozen ones are copied.
 */
export function addDecimalText(object: object, name: string, text: DecimalText): void {
  const before = decimalTextsOf(object);
  if (before === undefined || Object.isFrozen(before)) {
    const texts: DecimalTexts = Object.assign(Object.create(null), before, { [name]: text });
    (object as Holder)[DECIMAL_TEXTS] = texts;
  } else (before as { [name: string]: DecimalText })[name] = text;
}

/** Removes an element together with its text. */
export function deleteElement(object: { [name: string]: unknown }, name: string): void {
  Reflect.deleteProperty(object, name);
  if (decimalTextsOf(object) !== undefined) setDecimalText(object, name, undefined);
}

/** Sets an element to the value and the text of another object. */
export function copyElement(target: { [name: string]: unknown }, name: string, source: JsonObject): void {
  target[name] = source[name];
  if (decimalTextsOf(source) !== undefined || decimalTextsOf(target) !== undefined) {
    setDecimalText(target, name, decimalTextsOf(source)?.[name]);
  }
}

/** A number together with its text, for values that move from one object to another. */
export class WrittenDecimal {
  readonly #value: number;
  readonly #text: string;

  constructor(value: number, text: string) {
    this.#value = value;
    this.#text = text;
  }

  get value(): number {
    return this.#value;
  }

  get text(): string {
    return this.#text;
  }

  toJSON(): string {
    return this.#text;
  }
}

/** The number of a {@link WrittenDecimal}; any other value is returned itself. */
export function plainValue(value: unknown): unknown {
  return value instanceof WrittenDecimal ? value.value : value;
}

/** A number with its text; the number itself if JavaScript writes it the same. */
export function writtenDecimal(value: number, text: string): number | WrittenDecimal {
  return String(value) === text ? value : new WrittenDecimal(value, text);
}

/** The value of an element, in which decimals with a text are {@link WrittenDecimal}s; also those in a list. */
export function takeElement(source: JsonObject, name: string): unknown {
  const value = source[name];
  if (decimalTextsOf(source)?.[name] === undefined) return value;
  if (Array.isArray(value)) return value.map((item, index) => written(item, decimalText(source, name, index)));
  return written(value, decimalText(source, name));
}

function written(value: unknown, text: string | undefined): unknown {
  return text === undefined ? value : new WrittenDecimal(value as number, text);
}

/** The reverse of {@link takeElement}: sets an element and the text of its decimal. */
export function placeElement(target: { [name: string]: unknown }, name: string, value: unknown): void {
  target[name] = plainElement(value);
  const text = textOfDecimals(value);
  if (text !== undefined || decimalTextsOf(target) !== undefined) setDecimalText(target, name, text);
}

/** `Object.fromEntries` for values from {@link takeElement}. */
export function fromElements(entries: readonly (readonly [name: string, value: unknown])[]): {
  [name: string]: unknown;
} {
  const object = Object.fromEntries(entries.map(([name, value]) => [name, plainElement(value)]));
  for (const [name, value] of entries) {
    const text = textOfDecimals(value);
    if (text !== undefined) addDecimalText(object, name, text);
  }
  return object;
}

/** The value of an element with numbers in place of {@link WrittenDecimal}s; also those in a list. */
export function plainElement(value: unknown): unknown {
  return Array.isArray(value) && value.some(isWritten) ? value.map(plainValue) : plainValue(value);
}

/** The text of a {@link WrittenDecimal}, or those in a list; undefined for other values. */
export function textOfDecimals(value: unknown): DecimalText | undefined {
  if (value instanceof WrittenDecimal) return value.text;
  if (!Array.isArray(value) || !value.some(isWritten)) return undefined;
  return value.map((item) => (item instanceof WrittenDecimal ? item.text : undefined));
}

function isWritten(value: unknown): boolean {
  return value instanceof WrittenDecimal;
}

/**
 * A deep copy in which decimals with a text are {@link WrittenDecimal}s, so that code that moves values, such as a JSON
 * Patch, moves their texts too. Recursive: the depth must have been bounded before.
 */
export function withWrittenDecimals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withWrittenDecimals);
  if (typeof value !== 'object' || value === null || !isPlainObject(value)) return value;
  const names = Object.keys(value);
  return Object.fromEntries(names.map((name) => [name, withWrittenDecimals(takeElement(value as JsonObject, name))]));
}

/** The reverse of {@link withWrittenDecimals}. */
export function withDecimalTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => (isWritten(item) ? item : withDecimalTexts(item)));
  if (typeof value !== 'object' || value === null || !isPlainObject(value)) return value;
  return fromElements(Object.entries(value).map(([name, inner]) => [name, withDecimalTexts(inner)] as const));
}
