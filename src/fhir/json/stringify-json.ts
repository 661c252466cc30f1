import { inTurns, Pace } from '../../platform/pace.js';
import type { JsonObject } from '../resource.js';
import { decimalText, decimalTextsOf } from './decimal-texts.js';
import { boundedSize } from './json-values.js';

/**
 * `JSON.stringify` that writes decimals with the digits that `parseJson` read (`1.00`), in resources, Bundles and
 * GraphQL results.
 *
 * @param space the indentation, in characters. Default 0: one line
 * @throws TypeError, RangeError - as `JSON.stringify`
 *
 * @example
 * const observation = await repository.read('Observation', id);
 * response.type('application/fhir+json').send(stringifyJson(observation));
 */
export function stringifyJson(value: unknown, space = 0): string {
  // Values that JSON cannot represent fail here, so the rest can rely on a tree.
  const text = JSON.stringify(value, undefined, space);
  return hasDecimalText(value) ? writeDecimals(value, space) : text;
}

/**
 * Notes that the data of a GraphQL result has no decimals with a text of their own.
 *
 * PERF (wide): looking through a long result takes a quarter of the time of writing it.
 */
export function markPlain(data: object): void {
  PLAIN.add(data);
}

const PLAIN = new WeakSet();

/** {@link stringifyJson} for a GraphQL result. */
export function stringifyResult(result: { readonly data?: unknown }): string {
  return isPlainResult(result) ? JSON.stringify(result) : stringifyJson(result);
}

/** Whether {@link markPlain} was called for the data of a GraphQL result, and the rest is plain too. */
function isPlainResult({ data, ...rest }: { readonly data?: unknown }): boolean {
  return typeof data === 'object' && data !== null && PLAIN.has(data) && !hasDecimalText(rest);
}

/** The text of a value with decimals as they were written; undefined if no decimal has a text of its own. */
export function textWithDecimals(value: unknown): string | undefined {
  return hasDecimalText(value) ? writeDecimals(value) : undefined;
}

/** The JSON text of one element, with decimals as they were written; undefined for values that JSON leaves out. */
export function elementText(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  if (isLeftOut(value)) return undefined;
  const around = new Set<object>();
  findAround(value, around);
  const layout = { around, space: 0, line: '' };
  return decimalTextsOf(object)?.[name] === undefined ? write(value, layout) : writeElement(object, name, layout);
}

/**
 * True if a decimal somewhere in the value has a text of its own.
 *
 * Takes a quarter of the time of `JSON.stringify`; iterative, since that makes it twice as fast.
 */
export function hasDecimalText(root: unknown): boolean {
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item);
      continue;
    }
    if (decimalTextsOf(value) !== undefined) return true;
    if (hasOwnJson(value)) continue;
    for (const name in value) {
      const inner = (value as JsonObject)[name];
      if (typeof inner === 'object') open.push(inner);
    }
  }
  return false;
}

function writeDecimals(value: unknown, space = 0): string {
  const around = new Set<object>();
  findAround(value, around);
  return write(value, { around, space: Math.min(space, 10), line: space === 0 ? '' : '\n' });
}

interface Layout {
  /** The objects and lists around texts. */
  readonly around: ReadonlySet<object>;
  readonly space: number;
  /** Line end and indentation of the current level; empty where all is one line. */
  readonly line: string;
}

/** Collects the objects and lists around texts. @returns true if the value is one */
function findAround(value: unknown, around: Set<object>): boolean {
  if (typeof value !== 'object' || value === null || hasOwnJson(value)) return false;
  let found = decimalTextsOf(value) !== undefined;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (findAround(inner, around)) found = true;
  }
  if (found) around.add(value);
  return found;
}

/** `JSON.stringify` writes all parts without such texts. */
function write(value: unknown, layout: Layout): string {
  if (typeof value !== 'object' || value === null || !layout.around.has(value)) return writePlain(value, layout);
  if (Array.isArray(value)) return writeList(value, layout, (item, _, inner) => write(item, inner));
  const object = value as JsonObject;
  const texts = decimalTextsOf(object);
  const inner = { ...layout, line: layout.line && layout.line + ' '.repeat(layout.space) };
  const members: string[] = [];
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (isLeftOut(member)) continue;
    const text = texts?.[name] === undefined ? write(member, inner) : writeElement(object, name, inner);
    members.push(`${inner.line}${JSON.stringify(name)}:${layout.line && ' '}${text}`);
  }
  return members.length === 0 ? '{}' : `{${members.join(',')}${layout.line}}`;
}

function isLeftOut(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}

function writePlain(value: unknown, { space, line }: Layout): string {
  const text = JSON.stringify(value, undefined, space) ?? 'null';
  return line === '' ? text : text.replaceAll('\n', line);
}

function writeList(
  items: readonly unknown[],
  layout: Layout,
  writeItem: (item: unknown, index: number, inner: Layout) => string,
): string {
  const inner = { ...layout, line: layout.line && layout.line + ' '.repeat(layout.space) };
  const texts = items.map((item, index) => `${inner.line}${writeItem(item, index, inner)}`);
  return texts.length === 0 ? '[]' : `[${texts.join(',')}${layout.line}]`;
}

function writeElement(object: JsonObject, name: string, layout: Layout): string {
  const value = object[name];
  if (!Array.isArray(value)) return decimalText(object, name) ?? write(value, layout);
  return writeList(value, layout, (item, index, inner) => decimalText(object, name, index) ?? write(item, inner));
}

/** Whether the object determines its own JSON text. */
export function hasOwnJson(value: object): boolean {
  return typeof (value as { readonly toJSON?: unknown }).toJSON === 'function';
}

/** A text; a long one is a list of two or more texts that follow each other. No character is cut between them. */
export type Texts = string | readonly string[];

/**
 * {@link stringifyJson} for answers of any length: a long answer is written in parts, and other work runs between them.
 *
 * @param space the indentation, in characters. Default 0: one line
 * @returns several texts if the whole is longer than {@link TEXTS}, because joining and encoding them takes long
 * @throws TypeError, RangeError - as `JSON.stringify`
 */
export async function stringifyInTurns(value: unknown, space = 0): Promise<Texts> {
  if (!isLong(value)) return stringifyJson(value, space);
  return inTurns(partWriter(space).writingTexts(value), new Pace());
}

/** {@link stringifyInTurns} for a GraphQL result. */
export async function stringifyResultInTurns(result: { readonly data?: unknown }): Promise<Texts> {
  if (!isPlainResult(result)) return stringifyInTurns(result);
  // Skips the search for decimals with an original text.
  return isLong(result)
    ? inTurns(new PartWriter((part) => JSON.stringify(part), 0).writingTexts(result), new Pace())
    : JSON.stringify(result);
}

/** Only tests change it. */
export const TEXTS = {
  /** The shortest length of each of several texts, in UTF-16 code units. */
  size: 256 * 1024,
};

/** Numbers of values; long texts count as several. Only tests change them. */
export const PARTS = {
  /** In an answer that takes about 5 ms to write. */
  long: 32_768,
  /** In a part of it: about 0.3 ms. */
  size: 2_048,
};

function isLong(value: unknown): boolean {
  return boundedSize(value, PARTS.long) >= PARTS.long;
}

function isPart(value: unknown): boolean {
  return typeof value === 'string' || boundedSize(value, PARTS.size) < PARTS.size;
}

function partWriter(space: number): PartWriter {
  return new PartWriter((part) => stringifyJson(part, space), Math.min(space, 10));
}

class PartWriter {
  readonly #stringify: (part: unknown) => string;
  readonly #space: number;
  readonly #texts: string[] = [];
  /** The parts since the last text, and their length. */
  #parts: string[] = [];
  #length = 0;
  readonly #around = new Set<object>();

  constructor(stringify: (part: unknown) => string, space: number) {
    this.#stringify = stringify;
    this.#space = space;
  }

  *writingTexts(value: unknown): Generator<void, Texts> {
    yield* this.#write(value, this.#space === 0 ? '' : '\n');
    const last = this.#parts.join('');
    if (this.#texts.length === 0) return last;
    return last === '' ? this.#texts : [...this.#texts, last];
  }

  #push(part: string): void {
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length < TEXTS.size) return;
    this.#texts.push(this.#parts.join(''));
    this.#parts = [];
    this.#length = 0;
  }

  *#write(member: unknown, line: string): Generator<void> {
    yield;
    if (isPart(member) || !isDivisible(member)) {
      this.#push(indent(this.#stringify(member) ?? 'null', line));
      return;
    }
    if (this.#around.has(member)) throw new TypeError('A value that contains itself has no JSON text');
    this.#around.add(member);
    yield* Array.isArray(member) ? this.#writeItems(member, line) : this.#writeMembers(member as JsonObject, line);
    this.#around.delete(member);
  }

  *#writeItems(items: readonly unknown[], line: string): Generator<void> {
    const { size: partSize } = PARTS;
    const inner = line && line + ' '.repeat(this.#space);
    let start = 0;
    let isFirst = true;
    while (start < items.length) {
      // Short items are written together.
      let end = start;
      for (let size = 0; end < items.length && size < partSize; end += 1) {
        const own = boundedSize(items[end], partSize);
        if (own >= partSize && end > start) break;
        size += own;
      }
      this.#push(isFirst ? '[' : ',');
      isFirst = false;
      if (end === start + 1) {
        this.#push(inner);
        yield* this.#write(items[start], inner);
      } else {
        yield;
        const text = this.#stringify(items.slice(start, end));
        // Without its brackets, and the line end before the last one.
        this.#push(indent(this.#space === 0 ? text.slice(1, -1) : text.slice(1, -2), line));
      }
      start = end;
    }
    this.#push(isFirst ? '[]' : `${line}]`);
  }

  *#writeMembers(object: JsonObject, line: string): Generator<void> {
    const inner = line && line + ' '.repeat(this.#space);
    let isFirst = true;
    for (const name of Object.keys(object)) {
      const member = object[name];
      if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue;
      this.#push(`${isFirst ? '{' : ','}${inner}${JSON.stringify(name)}:${line && ' '}`);
      isFirst = false;
      yield* this.#write(member, inner);
    }
    this.#push(isFirst ? '{}' : `${line}}`);
  }
}

/** A line end in JSON text is never part of a value. */
function indent(text: string, line: string): string {
  return line === '' || line === '\n' ? text : text.replaceAll('\n', line);
}

/** Whether its items or members can be written one by one. */
function isDivisible(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || hasOwnJson(value)) return false;
  return Array.isArray(value) || decimalTextsOf(value) === undefined;
}
