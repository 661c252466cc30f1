import { inTurns, Pace } from '../../platform/pace.js';
import type { JsonObject } from '../resource.js';
import { decimalTextsOf } from './decimal-texts.js';
import { sizeOf } from './json-values.js';
import { hasOwnJson, isPlainResult, stringifyJson } from './stringify-json.js';

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
  // PERF: skips the search for decimals with an original text.
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
  return sizeOf(value, PARTS.long) >= PARTS.long;
}

function isPart(value: unknown): boolean {
  return typeof value === 'string' || sizeOf(value, PARTS.size) < PARTS.size;
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
        const own = sizeOf(items[end], partSize);
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
