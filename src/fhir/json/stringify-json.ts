import type { JsonObject } from '../resource.js';
import { decimalText, decimalTextsOf } from './decimal-texts.js';

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
 * PERF: looking through a long result takes a quarter of the time of writing it.
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
export function isPlainResult({ data, ...rest }: { readonly data?: unknown }): boolean {
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
 * PERF: a quarter of the time of `JSON.stringify`; iterative, since that makes it twice as fast.
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

/** PERF: `JSON.stringify` writes all parts without such texts. */
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
