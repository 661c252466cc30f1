import { isJsonObject } from '../resource.js';

/**
 * Splits a JSON Pointer into names: `/name/0/given` is `['name', '0', 'given']`, the empty text is the whole document.
 * See https://www.rfc-editor.org/rfc/rfc6901.
 *
 * @returns undefined for malformed pointers and for names with a special meaning in JavaScript
 */
export function parsePointer(text: unknown): readonly string[] | undefined {
  if (text === '') return [];
  if (typeof text !== 'string' || !text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  const names = text
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.some((name) => UNSAFE.has(name)) ? undefined : names;
}

const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export function formatPointer(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The value at a pointer: own members of objects and items of arrays only. @returns undefined if absent */
export function valueAt(document: unknown, names: readonly string[]): unknown {
  let value = document;
  for (const name of names) {
    if (Array.isArray(value))
      value = /^(?:0|[1-9]\d{0,8})$/.test(name) ? (value as unknown[])[Number(name)] : undefined;
    else value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** The container of the pointer's value; the value itself need not exist. */
export function parentOf(document: unknown, names: readonly string[]): unknown {
  return valueAt(document, names.slice(0, -1));
}
