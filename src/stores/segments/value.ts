import { compareTexts, cutsCharacter } from '../../platform/texts.js';
import type { ValueTest } from '../../search/criteria/value-test.js';
import type { IndexValue } from '../../search/index/index-entry.js';
import { splitEscaped } from '../../search/parse/string-criteria.js';

/**
 * How the values of a run are kept: a text or an interval, and a qualifier, which says what else the value is.
 *
 * | kind | text or interval | parts of the qualifier |
 * |---|---|---|
 * | token | code, empty if it has none | system |
 * | string | order key or folded text | |
 * | uri | the uri | |
 * | reference | `Type/id` or the URL | `url` for a URL |
 * | date, number | low and high | |
 * | quantity | low and high | system, code, unit |
 *
 * A run of a composite has pairs: the parts of the first value (kind, its own parts, text) come before those of the
 * second. A part without a value is empty, because no index value is an empty text.
 */
export type RunKind = IndexValue['kind'];

/** Maximum length of a stored text, in UTF-16 code units. Longer ones are cut. */
const MAX_TEXT = 256;
/** Ends a text that was cut. A text this long is always cut, so no whole text is equal to a cut one. */
const CUT = '\u{10ffff}';

/** Shortens a text so that the order of texts is kept, apart from cut texts with an equal beginning. */
export function cutText(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return text.slice(0, cutsCharacter(text, MAX_TEXT) ? MAX_TEXT - 1 : MAX_TEXT) + CUT;
}

/** Whether only the beginning of the text is stored. */
export function isCut(text: string): boolean {
  return text.length > MAX_TEXT;
}

/** Whether values of this kind are intervals; the others are texts. */
export function isInterval(kind: RunKind | ValueTest['kind']): kind is 'date' | 'number' | 'quantity' {
  return kind === 'date' || kind === 'number' || kind === 'quantity';
}

/** The text of a value that is not an interval. Strings compare by their folded form. */
export function textOf(value: IndexValue): string {
  switch (value.kind) {
    case 'token':
      return cutText(value.code ?? '');
    case 'string':
      return cutText(value.folded);
    case 'uri':
      return cutText(value.value);
    case 'reference':
      return cutText('url' in value ? value.url : `${value.type}/${value.id}`);
    default:
      return '';
  }
}

/** The parts of the qualifier of a value. */
function partsOf(value: IndexValue): readonly string[] {
  switch (value.kind) {
    case 'token':
      return [value.system ?? ''];
    case 'reference':
      return 'url' in value ? URL_PARTS : LOCAL_PARTS;
    case 'quantity':
      return [value.system ?? '', value.code ?? '', value.unit ?? ''];
    default:
      return NO_PARTS;
  }
}

const URL_PARTS: readonly string[] = ['url'];
const LOCAL_PARTS: readonly string[] = [''];
const NO_PARTS: readonly string[] = [];

/** The number of parts. */
const PARTS: { readonly [Kind in RunKind]: number } = {
  token: 1,
  reference: 1,
  quantity: 3,
  date: 0,
  number: 0,
  string: 0,
  uri: 0,
};

/** The qualifier of a value: its parts as one text, which no other parts have. */
export function qualifierOf(value: IndexValue): string {
  // PERF (scale): nearly all values have one part or none.
  return value.kind === 'quantity' ? joined(partsOf(value)) : escapePart(partsOf(value)[0] ?? '');
}

/** The qualifier of a pair: the kind, the parts and the text of the first value, and the parts of the second one. */
export function pairQualifierOf(first: IndexValue, second: IndexValue): string {
  return joined([first.kind, ...partsOf(first), textOf(first), ...partsOf(second)]);
}

function joined(parts: readonly string[]): string {
  return parts.map(escapePart).join('|');
}

/** A part without separators: `a|b` is `a\|b`. */
export function escapePart(part: string): string {
  const text = cutText(part);
  // Few texts have separators.
  return /[|\\]/.test(text) ? text.replace(/[|\\]/g, '\\$&') : text;
}

/** What a qualifier says of its values. */
export interface Qualifier {
  /** The first value of a pair. */
  readonly first: IndexValue | undefined;
  readonly parts: readonly string[];
  /** Whether a part was cut, so that a test of it decides nothing. */
  readonly isCut: boolean;
}

export function readQualifier(text: string, isPair: boolean): Qualifier {
  const parts = splitEscaped(text, '|').map((part) => part.replace(/\\(.)/gs, '$1'));
  if (!isPair) return { first: undefined, parts, isCut: parts.some(isCut) };
  const [kind, ...rest] = parts as [RunKind, ...string[]];
  const count = PARTS[kind];
  const first = valueOf(kind, rest.slice(0, count), { text: rest[count]! });
  return { first, parts: rest.slice(count + 1), isCut: parts.some(isCut) };
}

/** What an entry of a run says of its value. */
type EntryValue = { readonly text: string } | { readonly low: number; readonly high: number };

/** The index value of an entry, as `testValue` takes it. */
export function valueOf(kind: RunKind, parts: readonly string[], entry: EntryValue): IndexValue {
  if ('low' in entry) {
    const { low, high } = entry;
    if (kind !== 'quantity') return { kind: kind as 'date' | 'number', low, high };
    const [system, code, unit] = parts.map(textOrNone);
    return { kind, low, high, ...(system && { system }), ...(code && { code }), ...(unit && { unit }) };
  }
  const { text } = entry;
  switch (kind) {
    case 'token':
      return { kind, ...(parts[0] !== '' && { system: parts[0]! }), ...(text !== '' && { code: text }) };
    case 'reference':
      return parts[0] === '' ? localValue(text) : { kind, url: text };
    case 'uri':
      return { kind, value: text };
    default:
      return { kind: 'string', text, folded: text };
  }
}

function textOrNone(part: string): string | undefined {
  return part === '' ? undefined : part;
}

function localValue(text: string): IndexValue {
  const slash = text.indexOf('/');
  return { kind: 'reference', type: text.slice(0, slash), id: text.slice(slash + 1) };
}

/** The order of `compareSubjects`. */
export function compareOrders(a: string | number, b: string | number): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
