import type { Pace } from '../../platform/pace.js';
import { FhirError } from '../error.js';
import { type DecimalText, setDecimalTexts } from './decimal-texts.js';
import { findJsonFault } from './json-fault.js';
import { assertFewValues, closingQuote, isClosing, skipSpace } from './json-values.js';

/**
 * `JSON.parse` for external input: it skips a byte order mark, locates syntax errors, and remembers how decimals are
 * written. `1.00` becomes the number 1, is stored as `1.00`, and `stringifyJson` and `toHttpResponse` write it as
 * `1.00`.
 *
 * @throws FhirError `invalid` - not JSON. `details` has `line`, `column` (from 1) and `offset`. The message never
 * quotes the text, which may be clinical data.
 */
export function parseJson(text: string): unknown {
  const json = withoutMark(text);
  try {
    return parseWithDecimals(json);
  } catch (cause) {
    throw notJson(json, findJsonFault(json), cause);
  }
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

function notJson(json: string, offset: number | undefined, cause: unknown): FhirError {
  if (offset === undefined) return new FhirError('invalid', 'Not valid JSON', { cause });
  const { line, column } = positionAt(json, offset);
  const what = offset >= json.length ? 'it ends too early' : 'unexpected character';
  const where = json.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`;
  return new FhirError('invalid', `Not valid JSON: ${what} at ${where}`, { details: { line, column, offset }, cause });
}

const BYTE_ORDER_MARK = 0xfeff;

function positionAt(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

/**
 * `JSON.parse` that notes the texts of decimals which JavaScript would write differently, such as `1.00`.
 *
 * PERF (import-rate): V8's reviver with source texts takes five times as long as `JSON.parse`, noting takes half as long again, and
 * the test whether there is anything to note a third. It also needs no support by the platform.
 *
 * @throws SyntaxError
 */
export function parseWithDecimals(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  if (hasOddDecimal(text)) noteDecimals(text, value);
  return value;
}

/** True if JavaScript would write a number of the JSON text differently. May also be true because of similar strings. */
export function hasOddDecimal(text: string): boolean {
  CANDIDATE.lastIndex = 0;
  for (let found = CANDIDATE.exec(text); found !== null; found = CANDIDATE.exec(text)) {
    NUMBER.lastIndex = skipSpace(text, found.index + 1);
    const [number] = NUMBER.exec(text) ?? [];
    if (number !== undefined && isOdd(number)) return true;
  }
  return false;
}

/**
 * The beginning of what may be such a number: a fraction that ends in zero, at least 16 digits and points, an exponent,
 * less than 0.000001, minus zero. It tries no part of white space again, of which a text may have megabytes.
 */
const CANDIDATE =
  /[:,[][ \t\n\r]*(?![ \t\n\r])-?(?:\d+\.\d*0(?=[ \t\n\r,}\]])|[\d.]{16}|\d[\d.]*[eE]|0\.000000|(?<=-)0(?=[ \t\n\r,}\]]))/g;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[ \t\n\r]*[,}\]])/y;

function isOdd(number: string): boolean {
  return String(Number(number)) !== number;
}

/**
 * Notes the texts of decimals in the objects that `JSON.parse` made of a text. Numbers in lists of lists, and those in
 * a list that is the whole text, stay without: FHIR has neither.
 */
export function noteDecimals(text: string, value: unknown): void {
  const notes: Notes = new Map();
  const levels: Level[] = [];
  let level: Level | undefined;
  let expectsName = false;
  for (let at = 0; at < text.length;) {
    switch (text[at]) {
      case '"': {
        const close = closingQuote(text, at) + 1;
        if (expectsName && level !== undefined) {
          level.nameStart = at;
          level.nameEnd = close;
        }
        expectsName = false;
        at = close;
        break;
      }
      case '{':
      case '[': {
        const list = text[at] === '[';
        const inner = level === undefined ? value : memberOf(text, level);
        level = { value: containerOf(inner, list), list, index: 0, nameStart: 0, nameEnd: 0 };
        levels.push(level);
        expectsName = !list;
        at++;
        break;
      }
      case '}':
      case ']':
        levels.pop();
        level = levels.at(-1);
        expectsName = false;
        at++;
        break;
      case ',':
        if (level?.list === true) level.index++;
        else expectsName = true;
        at++;
        break;
      default: {
        const close = numberEnd(text, at);
        if (close > at && level !== undefined) noteNumber(text, text.slice(at, close), level, levels.at(-2), notes);
        at = Math.max(close, at + 1);
      }
    }
  }
  for (const [object, texts] of notes) setDecimalTexts(object, texts);
}

/** The object or list around the current position. */
interface Level {
  /** Undefined if the parsed value has no such object or list, because of a repeated name. */
  readonly value: object | undefined;
  readonly list: boolean;
  /** Of a list. */
  index: number;
  /** Start and end of the current name, in an object. */
  nameStart: number;
  nameEnd: number;
}

type Notes = Map<object, { [name: string]: DecimalText | undefined }>;

/** @param around the level around a list */
function noteNumber(text: string, number: string, level: Level, around: Level | undefined, notes: Notes): void {
  const odd = isOdd(number);
  if (!odd && notes.size === 0) return;
  const holder = level.list ? around : level;
  if (holder?.value === undefined || holder.list) return;
  const { value } = holder;
  const name = nameOf(text, holder);
  const texts = notes.get(value);
  // A repeated name replaces the value and its text.
  if (!odd && texts?.[name] === undefined) return;
  const known = texts ?? (Object.create(null) as { [name: string]: DecimalText | undefined });
  if (texts === undefined) notes.set(value, known);
  if (!level.list) {
    if (odd) known[name] = number;
    else Reflect.deleteProperty(known, name);
    return;
  }
  const before = known[name];
  const items = Array.isArray(before) ? (before as (string | undefined)[]) : [];
  while (items.length < level.index) items.push(undefined);
  items[level.index] = odd ? number : undefined;
  known[name] = items;
}

/** The value of the current name or index. */
function memberOf(text: string, level: Level): unknown {
  if (level.value === undefined) return undefined;
  if (level.list) return (level.value as readonly unknown[])[level.index];
  const name = nameOf(text, level);
  // With repeated names the object may not be the one in the text: `__proto__` must not lead to a prototype.
  return Object.hasOwn(level.value, name) ? (level.value as { readonly [name: string]: unknown })[name] : undefined;
}

function nameOf(text: string, { nameStart, nameEnd }: Level): string {
  const name = text.slice(nameStart + 1, nameEnd - 1);
  return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
}

function containerOf(value: unknown, list: boolean): object | undefined {
  return typeof value === 'object' && value !== null && Array.isArray(value) === list ? value : undefined;
}

/** The offset after the characters of a number; `start` if no number begins there. */
function numberEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return start;
  let at = start + 1;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    // Digits, sign, point, exponent.
    const belongs =
      (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2d || code === 0x2b || (code | 0x20) === 0x65;
    if (!belongs) return at;
  }
}

/**
 * {@link parseWithDecimals} for a Bundle: its entries, and the items of any other list in it, are parsed one by one, and
 * other work runs between them. Numbers among the items lose their digits; no list of a Bundle has any.
 *
 * @param maxValues maximum number of values of an entry, and of what is around the entries
 * @throws SyntaxError
 * @throws FhirError `too-costly` - too many values
 */
export async function parseBundle(text: string, maxValues: number, pace: Pace): Promise<unknown> {
  const lists: unknown[][] = [];
  /** The text with the number of each list in place of its items: `{"resourceType":"Bundle","entry":[0]}`. */
  let around = '';
  let copied = 0;
  let depth = 0;
  /** Where the current item begins; -1 outside of the lists. */
  let start = -1;
  const isObject = text[skipSpace(text, 0)] === '{';
  const take = (end: number): void => {
    const items = lists.at(-1)!;
    const item = text.slice(start, end);
    assertFewValues(item, maxValues, `Bundle.entry[${items.length}]`);
    items.push(parseWithDecimals(item));
    start = end + 1;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') at = closingQuote(text, at);
    else if (char === '{' || char === '[') {
      depth += 1;
      if (depth !== 2 || char === '{' || !isObject) continue;
      around += `${text.slice(copied, at + 1)}${lists.length}`;
      lists.push([]);
      start = at + 1;
    } else if (char === ',' && depth === 2 && start >= 0) {
      take(at);
      if (pace.isSpent) await pace.next();
    } else if (isClosing(char)) {
      if (depth === 2 && start >= 0) {
        if (lists.at(-1)!.length > 0 || skipSpace(text, start) !== at) take(at);
        copied = at;
        start = -1;
      }
      depth -= 1;
    }
  }
  if (start < 0) around += text.slice(copied);
  assertFewValues(around, maxValues, 'The Bundle, without its entries,');
  const bundle = parseWithDecimals(around) as { [name: string]: unknown };
  if (lists.length === 0) return bundle;
  for (const name of Object.keys(bundle)) {
    const member = bundle[name];
    if (Array.isArray(member)) bundle[name] = lists[member[0] as number];
  }
  return bundle;
}
