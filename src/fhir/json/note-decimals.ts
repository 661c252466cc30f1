import { type DecimalText, setDecimalTexts } from './decimal-texts.js';
import { closingQuote, skipSpace } from './json-values.js';

/**
 * `JSON.parse` that notes the texts of decimals which JavaScript would write differently, such as `1.00`.
 *
 * PERF: V8's reviver with source texts takes five times as long as `JSON.parse`, noting takes half as long again, and
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
 * less than 0.000001, minus zero. PERF: it tries no part of white space again, of which a text may have megabytes.
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
