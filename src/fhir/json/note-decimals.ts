import type { Pace } from '../../platform/pace.js';
import { type DecimalText, setDecimalTexts } from './decimal-texts.js';

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
 * less than 0.000001, minus zero.
 */
const CANDIDATE =
  /[:,[][ \t\n\r]*-?(?:\d+\.\d*0(?=[ \t\n\r,}\]])|[\d.]{16}|\d[\d.]*[eE]|0\.000000|(?<=-)0(?=[ \t\n\r,}\]]))/g;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[ \t\n\r]*[,}\]])/y;

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isOdd(number: string): boolean {
  return String(Number(number)) !== number;
}

/**
 * Notes the texts of decimals in the objects that `JSON.parse` made of a text. Numbers in lists of lists, and those in
 * a list that is the whole text, stay without: FHIR has neither.
 */
export function noteDecimals(text: string, value: unknown): void {
  const notes = new DecimalNotes(text, value);
  notes.walk(text.length);
  notes.keep();
}

/** {@link noteDecimals} in turns with other work. */
export async function noteDecimalsInTurns(text: string, value: unknown, pace: Pace): Promise<void> {
  const notes = new DecimalNotes(text, value);
  for (let end = STRETCH; !notes.walk(end); end += STRETCH) if (pace.isSpent) await pace.next();
  notes.keep();
}

/** Characters that are walked between looks at the clock. */
const STRETCH = 64 * 1024;

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

class DecimalNotes {
  readonly #text: string;
  readonly #value: unknown;
  readonly #notes = new Map<object, { [name: string]: DecimalText | undefined }>();
  readonly #levels: Level[] = [];
  #at = 0;
  #expectsName = false;

  constructor(text: string, value: unknown) {
    this.#text = text;
    this.#value = value;
  }

  /** Walks the text and the value in step, to this offset or a little further. @returns whether that was the end */
  walk(end: number): boolean {
    const text = this.#text;
    const levels = this.#levels;
    const stop = Math.min(end, text.length);
    let level = levels.at(-1);
    let expectsName = this.#expectsName;
    let at = this.#at;
    while (at < stop) {
      switch (text[at]) {
        case '"': {
          const close = stringEnd(text, at);
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
          const inner = level === undefined ? this.#value : this.#memberOf(level);
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
          if (close > at && level !== undefined) this.#number(text.slice(at, close), level, levels);
          at = Math.max(close, at + 1);
        }
      }
    }
    this.#expectsName = expectsName;
    this.#at = at;
    return at >= text.length;
  }

  /** Gives the objects the texts of their decimals. */
  keep(): void {
    for (const [object, texts] of this.#notes) setDecimalTexts(object, texts);
  }

  #number(number: string, level: Level, levels: readonly Level[]): void {
    const odd = isOdd(number);
    if (!odd && this.#notes.size === 0) return;
    const holder = level.list ? levels.at(-2) : level;
    if (holder?.value === undefined || holder.list) return;
    const { value } = holder;
    const name = this.#nameOf(holder);
    const texts = this.#notes.get(value);
    // A repeated name replaces the value and its text.
    if (!odd && texts?.[name] === undefined) return;
    const known = texts ?? (Object.create(null) as { [name: string]: DecimalText | undefined });
    if (texts === undefined) this.#notes.set(value, known);
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
  #memberOf(level: Level): unknown {
    if (level.value === undefined) return undefined;
    if (level.list) return (level.value as readonly unknown[])[level.index];
    const name = this.#nameOf(level);
    // With repeated names the object may not be the one in the text: `__proto__` must not lead to a prototype.
    return Object.hasOwn(level.value, name) ? (level.value as { readonly [name: string]: unknown })[name] : undefined;
  }

  #nameOf({ nameStart, nameEnd }: Level): string {
    const name = this.#text.slice(nameStart + 1, nameEnd - 1);
    return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
  }
}

function containerOf(value: unknown, list: boolean): object | undefined {
  return typeof value === 'object' && value !== null && Array.isArray(value) === list ? value : undefined;
}

/** The offset after the string that begins here. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
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
