import { Pace } from '../../platform/pace.js';
import { FhirError } from '../error.js';
import { hasOddDecimal, noteDecimalsInTurns, parseWithDecimals } from './note-decimals.js';

/**
 * {@link parseWithDecimals} for texts of any length: a long text is read in parts, and other work runs between them.
 *
 * @throws SyntaxError - not JSON
 * @throws FhirError `invalid` - a long text that nests deeper than {@link MAX_LEVELS}
 */
export async function parseInTurns(text: string, pace: Pace = new Pace()): Promise<unknown> {
  if (text.length < PARSED_PARTS.long) return parseWithDecimals(text);
  const reader = new PartReader(text, pace, true);
  const value = await reader.read();
  if (reader.hasOddDecimal) await noteDecimalsInTurns(text, value, pace);
  return value;
}

/**
 * {@link parseInTurns} for a long text, if it is already known whether JavaScript would write some of its decimals
 * differently.
 */
export async function parseKnownInTurns(text: string, hasOddDecimals: boolean): Promise<unknown> {
  const pace = new Pace();
  const value = await new PartReader(text, pace, false).read();
  if (hasOddDecimals) await noteDecimalsInTurns(text, value, pace);
  return value;
}

/** Lengths in UTF-16 code units. Only tests change them. */
export const PARSED_PARTS = {
  /** The length of a text that takes about 5 ms to parse. */
  long: 512 * 1024,
  /** The length of a part, which takes about 0.5 ms. */
  size: 64 * 1024,
};

/** The levels of objects and lists in a long text; no resource and no variables nest that deep. */
const MAX_LEVELS = 1_000;

/** An object or a list around the current position. PERF: one for each depth, used again. */
interface Level {
  isList: boolean;
  /** Where it begins. */
  open: number;
  /** The part that was read so far; undefined while it may still be short enough to be read as a whole. */
  value: unknown[] | { [name: string]: unknown } | undefined;
  /** The start of its unread members. */
  start: number;
  /** The last comma between its members; before `start` if there is none. */
  comma: number;
  /** The name of the member that is being read in parts. */
  name: string;
  /** That member has ended, so a comma or the end comes next. */
  isAfterPart: boolean;
}

/**
 * Finds the brackets of a text, and lets `JSON.parse` read the members between them, a part of an object or list at a
 * time. It accepts the same texts as `JSON.parse`, with the same result.
 */
class PartReader {
  hasOddDecimal = false;
  readonly #text: string;
  readonly #pace: Pace;
  readonly #looksForDecimals: boolean;
  readonly #levels: Level[] = [];
  #depth = 0;

  constructor(text: string, pace: Pace, looksForDecimals: boolean) {
    this.#text = text;
    this.#pace = pace;
    this.#looksForDecimals = looksForDecimals;
  }

  async read(): Promise<unknown> {
    const text = this.#text;
    let rest = PARSED_PARTS.size;
    for (let at = 0; at < text.length; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          at = closingQuote(text, at);
          break;
        case BRACE:
        case BRACKET:
          this.#open(at);
          break;
        case COMMA:
          this.#separate(at);
          break;
        case CLOSING_BRACE:
        case CLOSING_BRACKET: {
          const { value } = this.#close(at);
          if (this.#depth > 0) break;
          // Nothing of a text without long members was read yet.
          if (value === undefined) return this.#parse(text);
          this.#assertBlank(at + 1, text.length);
          return value;
        }
        default:
      }
      if (at < rest) continue;
      rest = at + PARSED_PARTS.size;
      if (this.#pace.isSpent) await this.#pace.next();
    }
    if (this.#depth > 0) throw fault();
    return this.#parse(text);
  }

  #open(at: number): void {
    if (this.#depth === MAX_LEVELS) {
      throw new FhirError('invalid', `The JSON nests deeper than ${MAX_LEVELS} levels`);
    }
    const level = (this.#levels[this.#depth++] ??= {} as Level);
    level.isList = this.#text.charCodeAt(at) === BRACKET;
    level.open = at;
    level.value = undefined;
    level.start = at + 1;
    level.comma = at;
    level.isAfterPart = false;
  }

  #separate(at: number): void {
    if (this.#depth === 0) throw fault();
    const level = this.#levels[this.#depth - 1]!;
    if (level.isAfterPart) {
      this.#assertBlank(level.start, at);
      level.isAfterPart = false;
      level.start = at + 1;
    } else if (at - level.start >= PARSED_PARTS.size) {
      this.#begin(this.#depth - 1);
      this.#readMembers(level, at);
    }
    level.comma = at;
  }

  #close(at: number): Level {
    const level = this.#levels[--this.#depth];
    const isList = this.#text.charCodeAt(at) === CLOSING_BRACKET;
    if (level === undefined || level.isList !== isList) throw fault();
    if (level.value === undefined) return level;
    if (level.isAfterPart) this.#assertBlank(level.start, at);
    else this.#readMembers(level, at);
    if (this.#depth > 0) {
      const around = this.#levels[this.#depth - 1]!;
      add(around, around.name, level.value);
      around.start = at + 1;
      around.isAfterPart = true;
    }
    return level;
  }

  /** Begins to read an object or list, and all that contain it, in parts. */
  #begin(depth: number): void {
    const level = this.#levels[depth]!;
    if (level.value !== undefined) return;
    level.value = level.isList ? [] : {};
    if (depth === 0) return this.#assertBlank(0, level.open);
    this.#begin(depth - 1);
    const around = this.#levels[depth - 1]!;
    if (around.isAfterPart) throw fault();
    if (around.comma >= around.start) this.#readMembers(around, around.comma);
    if (around.isList) this.#assertBlank(around.start, level.open);
    else around.name = this.#nameIn(around.start, level.open);
  }

  /** Reads the members before a comma or the end: at least one. */
  #readMembers(level: Level, end: number): void {
    const members = this.#text.slice(level.start, end);
    if (isBlank(members)) throw fault();
    level.start = end + 1;
    if (level.isList) {
      for (const item of this.#parse(`[${members}]`) as unknown[]) add(level, '', item);
    } else {
      const read = this.#parse(`{${members}}`) as { [name: string]: unknown };
      for (const name of Object.keys(read)) add(level, name, read[name]);
    }
  }

  #nameIn(start: number, end: number): string {
    const names = Object.keys(JSON.parse(`{${this.#text.slice(start, end)}null}`) as object);
    if (names.length !== 1) throw fault();
    return names[0]!;
  }

  #parse(text: string): unknown {
    const value = JSON.parse(text) as unknown;
    if (this.#looksForDecimals) this.hasOddDecimal ||= hasOddDecimal(text);
    return value;
  }

  #assertBlank(start: number, end: number): void {
    if (!isBlank(this.#text.slice(start, end))) throw fault();
  }
}

function add({ value }: Level, name: string, member: unknown): void {
  if (Array.isArray(value)) value.push(member);
  // Sets an own member, as `JSON.parse` does, and not the prototype.
  else if (name === '__proto__') {
    Object.defineProperty(value, name, { value: member, enumerable: true, configurable: true, writable: true });
  } else value![name] = member;
}

/** The end of the string that begins here. */
function closingQuote(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  throw fault();
}

function isBlank(text: string): boolean {
  return /^[ \t\n\r]*$/.test(text);
}

/** Messages of the parser quote the text, which may be clinical data; those of this one do not. */
function fault(): SyntaxError {
  return new SyntaxError('Not valid JSON');
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
