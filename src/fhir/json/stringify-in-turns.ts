import { Pace } from '../../platform/pace.js';
import type { JsonObject } from '../resource.js';
import { decimalTextsOf } from './decimal-texts.js';
import { hasOwnJson, isPlainResult, stringifyJson } from './stringify-json.js';

/**
 * {@link stringifyJson} for answers of any length: a long one is written in parts, between which other work has its turn.
 *
 * @param space of the indentation, in characters. Default 0: one line
 * @throws TypeError, RangeError - as `JSON.stringify`
 */
export async function stringifyInTurns(value: unknown, space = 0): Promise<string> {
  if (sizeOf(value, PARTS.long) < PARTS.long) return stringifyJson(value, space);
  return writeParts(value, Math.min(space, 10), (part) => stringifyJson(part, space));
}

/** {@link stringifyInTurns} for a GraphQL result. */
export async function stringifyResultInTurns(result: { readonly data?: unknown }): Promise<string> {
  if (!isPlainResult(result)) return stringifyInTurns(result);
  // PERF: nothing looks for decimals with a text of their own.
  return sizeOf(result, PARTS.long) < PARTS.long
    ? JSON.stringify(result)
    : writeParts(result, 0, (part) => JSON.stringify(part));
}

/** Numbers of values. Only tests change them. */
export const PARTS = {
  /** In an answer that takes about 5 ms to write. */
  long: 32_768,
  /** In a part: about 0.3 ms. */
  size: 2_048,
};

async function writeParts(value: unknown, space: number, stringify: (part: unknown) => string): Promise<string> {
  const { size: partSize } = PARTS;
  const parts: string[] = [];
  const around = new Set<object>();
  const pace = new Pace();
  const indented = space === 0 ? '' : '\n';
  const write = async (member: unknown, line: string): Promise<void> => {
    if (pace.isSpent) await pace.next();
    if (!isDivisible(member) || sizeOf(member, partSize) < partSize) {
      parts.push(indent(stringify(member) ?? 'null', line));
      return;
    }
    if (around.has(member)) throw new TypeError('A value that contains itself has no JSON text');
    around.add(member);
    await (Array.isArray(member) ? writeItems(member, line) : writeMembers(member as JsonObject, line));
    around.delete(member);
  };
  const writeItems = async (items: readonly unknown[], line: string): Promise<void> => {
    const inner = line && line + ' '.repeat(space);
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
      parts.push(isFirst ? '[' : ',');
      isFirst = false;
      if (end === start + 1) {
        parts.push(inner);
        await write(items[start], inner);
      } else {
        if (pace.isSpent) await pace.next();
        const text = stringify(items.slice(start, end));
        // Without its brackets, and the line end before the last one.
        parts.push(indent(space === 0 ? text.slice(1, -1) : text.slice(1, -2), line));
      }
      start = end;
    }
    parts.push(isFirst ? '[]' : `${line}]`);
  };
  const writeMembers = async (object: JsonObject, line: string): Promise<void> => {
    const inner = line && line + ' '.repeat(space);
    let isFirst = true;
    for (const name of Object.keys(object)) {
      const member = object[name];
      if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue;
      parts.push(isFirst ? '{' : ',', `${inner}${JSON.stringify(name)}:${line && ' '}`);
      isFirst = false;
      await write(member, inner);
    }
    parts.push(isFirst ? '{}' : `${line}}`);
  };
  await write(value, indented);
  return parts.join('');
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

/** Counts the values in a value, up to a bound. */
function sizeOf(value: unknown, bound: number): number {
  const open: unknown[] = [value];
  let size = 0;
  while (open.length > 0 && size < bound) {
    const next = open.pop();
    size += 1;
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      if (next.length >= bound) return bound;
      for (const item of next) open.push(item);
    } else {
      for (const name in next) open.push((next as { readonly [name: string]: unknown })[name]);
    }
  }
  return size;
}
