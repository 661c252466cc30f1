import type { JsonObject } from '../resource.js';
import { isPlainObject } from './plain-object.js';
import { type DecimalText, decimalText, decimalTextsOf, setDecimalText, addDecimalText } from './decimal-texts.js';

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
