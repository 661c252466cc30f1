import fc from 'fast-check';

/** Texts that cause problems in parsers, databases and displays. */
export const AWKWARD_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  '\uD800',
  '\u202E',
  '\uFEFF',
  'é',
  'e\u0301',
  'ﬃ',
  '😀',
  '\\',
  '"',
  "'",
  '`',
  '\n',
  '%',
  '%zz',
  '_',
  '*',
  '?',
  '/',
  '../',
  '#',
  '|',
  '$',
  ',',
  '--',
  ';',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  ':',
  '0',
  '-1',
  '1e999',
  '99999999999999999999',
  '0.1e-400',
  '2020-02-30',
  '9999-12-31T23:59:60Z',
  'null',
  'undefined',
  'NaN',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  "' or 1=1 --",
  'a'.repeat(3000),
  '('.repeat(400),
  '['.repeat(400),
  'a.'.repeat(300),
];

/** Other values for any position in JSON. */
const AWKWARD_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  1.5,
  -1,
  1e308,
  2 ** 53,
  5e-324,
  [],
  {},
  [null],
  [[]],
  [{}],
  { resourceType: 'Patient' },
  { resourceType: 'Nothing', id: 'x' },
  { reference: 'Patient/x' },
  { reference: '#' },
  { reference: 'Patient/../x' },
  { value: null },
  { coding: [null, { code: 1 }] },
  { extension: [{ url: 'urn:x', extension: [] }] },
  JSON.parse('{ "__proto__": { "polluted": true } }'),
  { constructor: { prototype: { polluted: true } } },
  { toString: 1, valueOf: 2, length: -1, then: 3 },
];

/** Values that JSON cannot have and host code can pass anyway. */
const HOST_VALUES: readonly unknown[] = [
  undefined,
  NaN,
  Infinity,
  10n,
  Symbol('s'),
  new Date(0),
  new Date(NaN),
  () => 'x',
  new Map(),
];

/**
 * One of the texts with a few of its pieces cut, doubled, replaced, moved or taken from another text. The pattern, which must be
 * global, defines the pieces: single characters break syntax, tokens get past it.
 */
export function mutatedTexts(
  texts: readonly string[],
  { pieces = /[^]/gu, words = [] }: { readonly pieces?: RegExp; readonly words?: readonly string[] } = {},
): fc.Arbitrary<string> {
  const pool = [...new Set(texts.flatMap((text) => text.match(pieces) ?? []))];
  const word = fc.constantFrom(...AWKWARD_TEXTS, ...words, ...pool);
  const step = fc.record({
    kind: fc.constantFrom('cut', 'paste', 'replace', 'replace', 'double', 'move', 'end'),
    at: fc.nat(),
    to: fc.nat(),
    length: fc.integer({ min: 1, max: 8 }),
    word,
  });
  return fc.tuple(fc.constantFrom(...texts), fc.array(step, { maxLength: 3 })).map(([text, steps]) => {
    const list = text.match(pieces)?.slice() ?? [];
    for (const { kind, at, to, length, word } of steps) {
      const start = at % (list.length + 1);
      switch (kind) {
        case 'cut':
          list.splice(start, length);
          break;
        case 'paste':
          list.splice(start, 0, word);
          break;
        case 'replace':
          list.splice(start, 1, word);
          break;
        case 'double':
          list.splice(start, 0, ...list.slice(start, start + length));
          break;
        case 'move':
          list.splice(to % (list.length + 1), 0, ...list.splice(start, length));
          break;
        case 'end':
          list.length = start;
      }
    }
    return list.join('');
  });
}

/** One of the values with a few of its parts removed, replaced, renamed, wrapped, doubled or moved. */
export function mutatedValues<Value>(
  values: readonly Value[],
  { names = [], parts = [], host = false }: MutationOptions = {},
): fc.Arbitrary<Value> {
  const allNames = fc.constantFrom(...new Set([...AWKWARD_TEXTS.slice(0, -4), ...names, ...values.flatMap(namesIn)]));
  const part = fc.constantFrom<unknown>(...AWKWARD_VALUES, ...AWKWARD_TEXTS, ...parts, ...(host ? HOST_VALUES : []));
  const step = fc.record({
    kind: fc.constantFrom('replace', 'replace', 'remove', 'rename', 'add', 'wrap', 'unwrap', 'double', 'copy', 'nest'),
    at: fc.nat(),
    from: fc.nat(),
    name: allNames,
    part,
  });
  return fc.tuple(fc.constantFrom(...values), fc.array(step, { maxLength: 3 })).map(([value, steps]) => {
    const holder: Holder = { value: copyOf(value) };
    for (const one of steps) change(holder, one);
    return holder['value'] as Value;
  });
}

interface MutationOptions {
  /** Names to add and to rename to, in addition to those of the values. */
  readonly names?: readonly string[];
  /** Values to insert. */
  readonly parts?: readonly unknown[];
  /** Whether to insert values that JSON cannot have. */
  readonly host?: boolean;
}

type Holder = { [name: string]: unknown };

interface Step {
  readonly kind: 'replace' | 'remove' | 'rename' | 'add' | 'wrap' | 'unwrap' | 'double' | 'copy' | 'nest';
  readonly at: number;
  readonly from: number;
  readonly name: string;
  readonly part: unknown;
}

function change(root: Holder, { kind, at, from, name, part }: Step): void {
  const places = placesIn(root);
  const { holder, key } = places[at % places.length]!;
  const value = (holder as Holder)[key];
  switch (kind) {
    case 'replace':
      define(holder, key, copyOf(part));
      break;
    case 'remove':
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else if (holder !== root) Reflect.deleteProperty(holder, key);
      break;
    case 'rename':
      if (Array.isArray(holder) || holder === root) break;
      Reflect.deleteProperty(holder, key);
      define(holder, name, value);
      break;
    case 'add':
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) define(value, name, copyOf(part));
      break;
    case 'wrap':
      define(holder, key, [value]);
      break;
    case 'unwrap':
      if (typeof value === 'object' && value !== null) define(holder, key, Object.values(value)[0]);
      break;
    case 'double':
      if (Array.isArray(holder)) holder.push(copyOf(value));
      else define(holder, key, [value, copyOf(value)]);
      break;
    case 'copy': {
      const other = places[from % places.length]!;
      define(holder, key, copyOf((other.holder as Holder)[other.key]));
      break;
    }
    case 'nest': {
      let nested = value;
      for (let level = 0; level < 1 + (from % 120); level++) nested = level % 2 === 0 ? [nested] : { [name]: nested };
      define(holder, key, nested);
    }
  }
}

function placesIn(root: Holder): { readonly holder: object; readonly key: string }[] {
  const places: { holder: object; key: string }[] = [];
  const visit = (holder: object): void => {
    for (const [key, value] of Object.entries(holder)) {
      places.push({ holder, key });
      if (typeof value === 'object' && value !== null) visit(value as object);
    }
  };
  visit(root);
  return places;
}

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(namesIn);
  return Array.isArray(value) ? inner : [...Object.keys(value), ...inner];
}

/** Like `JSON.parse`: `__proto__` is an ordinary name. */
function define(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Copies values that `structuredClone` refuses, too. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy = {};
  for (const [name, inner] of Object.entries(value)) define(copy, name, copyOf(inner));
  return copy;
}
