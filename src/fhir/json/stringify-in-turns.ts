import { inTurns, Pace } from '../../platform/pace.js';
import type { JsonObject } from '../resource.js';
import { decimalTextsOf } from './decimal-texts.js';
import { cutsCharacter } from '../../platform/surrogates.js';
import { CHARACTERS_PER_VALUE, isLong, isPartToWrite, PARTS, sizeOf } from './parts.js';
import { hasOwnJson, isPlainResult, stringifyJson } from './stringify-json.js';

/**
 * {@link stringifyJson} for answers of any length: a long answer is written in parts, and other work runs between them.
 *
 * @param space the indentation, in characters. Default 0: one line
 * @throws TypeError, RangeError - as `JSON.stringify`
 */
export async function stringifyInTurns(value: unknown, space = 0): Promise<string> {
  if (!isLong(value)) return stringifyJson(value, space);
  return inTurns(writingJson(value, space), new Pace());
}

/** {@link stringifyInTurns} for a GraphQL result. */
export async function stringifyResultInTurns(result: { readonly data?: unknown }): Promise<string> {
  if (!isPlainResult(result)) return stringifyInTurns(result);
  // PERF: skips the search for decimals with an original text.
  return isLong(result)
    ? inTurns(new PartWriter((part) => JSON.stringify(part), 0).writing(result), new Pace())
    : JSON.stringify(result);
}

/** {@link stringifyJson} in steps. */
export function writingJson(value: unknown, space = 0): Generator<void, string> {
  return new PartWriter((part) => stringifyJson(part, space), Math.min(space, 10)).writing(value);
}

class PartWriter {
  readonly #stringify: (part: unknown) => string;
  readonly #space: number;
  readonly #parts: string[] = [];
  readonly #around = new Set<object>();

  constructor(stringify: (part: unknown) => string, space: number) {
    this.#stringify = stringify;
    this.#space = space;
  }

  *writing(value: unknown): Generator<void, string> {
    yield* this.#write(value, this.#space === 0 ? '' : '\n');
    return this.#parts.join('');
  }

  *#write(member: unknown, line: string): Generator<void> {
    yield;
    if (typeof member === 'string' && !isPartToWrite(member)) return yield* this.#writeText(member);
    if (isPartToWrite(member) || !isDivisible(member)) {
      this.#parts.push(indent(this.#stringify(member) ?? 'null', line));
      return;
    }
    if (this.#around.has(member)) throw new TypeError('A value that contains itself has no JSON text');
    this.#around.add(member);
    yield* Array.isArray(member) ? this.#writeItems(member, line) : this.#writeMembers(member as JsonObject, line);
    this.#around.delete(member);
  }

  *#writeText(text: string): Generator<void> {
    this.#parts.push('"');
    for (let start = 0; start < text.length;) {
      let end = start + PARTS.size * CHARACTERS_PER_VALUE;
      if (cutsCharacter(text, end)) end += 1;
      this.#parts.push(JSON.stringify(text.slice(start, end)).slice(1, -1));
      start = end;
      yield;
    }
    this.#parts.push('"');
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
        const own = sizeOf(items[end], partSize, CHARACTERS_PER_VALUE);
        if (own >= partSize && end > start) break;
        size += own;
      }
      this.#parts.push(isFirst ? '[' : ',');
      isFirst = false;
      if (end === start + 1) {
        this.#parts.push(inner);
        yield* this.#write(items[start], inner);
      } else {
        yield;
        const text = this.#stringify(items.slice(start, end));
        // Without its brackets, and the line end before the last one.
        this.#parts.push(indent(this.#space === 0 ? text.slice(1, -1) : text.slice(1, -2), line));
      }
      start = end;
    }
    this.#parts.push(isFirst ? '[]' : `${line}]`);
  }

  *#writeMembers(object: JsonObject, line: string): Generator<void> {
    const inner = line && line + ' '.repeat(this.#space);
    let isFirst = true;
    for (const name of Object.keys(object)) {
      const member = object[name];
      if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue;
      this.#parts.push(isFirst ? '{' : ',', `${inner}${JSON.stringify(name)}:${line && ' '}`);
      isFirst = false;
      yield* this.#write(member, inner);
    }
    this.#parts.push(isFirst ? '{}' : `${line}}`);
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
