import type { AnyResource } from '../fhir/resource.js';
import { DECIMALS_MARK, ELEMENT_MARK } from './json-text.js';
import { parseShortText } from './long-texts.js';

/**
 * Reads some elements of resources from the texts of `jsonLines`.
 *
 * PERF: the time of `JSON.parse` grows with the values that it makes. Of a Patient with a narrative, a third remains.
 */
export class ElementReader {
  /** The beginnings of the lines to read, by the code of the first letter. */
  readonly #beginnings: (readonly string[] | undefined)[] = [];
  /** The share of a text that is read, as learned from earlier texts. */
  #share = 0.5;
  #unmeasured = 0;

  /** @param names the elements to read; `resourceType` and `id` are always read. */
  constructor(names: readonly string[]) {
    for (const name of new Set(['resourceType', 'id', ...names])) {
      const letter = name.charCodeAt(0);
      this.#beginnings[letter] = [...(this.#beginnings[letter] ?? []), `"${name}":`];
    }
  }

  /** Whether it is better to parse all of a text: it has no lines, or nearly all of its elements are needed. */
  prefersWhole(text: string): boolean {
    const open = openingOf(text);
    return !text.startsWith(ELEMENT_MARK, open) || !text.endsWith('}') || this.#isMostlyRead;
  }

  /** The resource with these elements, from a text with lines. @throws SyntaxError - not JSON */
  read(text: string): AnyResource {
    const open = openingOf(text);
    const part = this.#partOf(text, open + ELEMENT_MARK.length);
    this.#share += (part.length / text.length - this.#share) / 8;
    return parseShortText(text.slice(0, open) + part);
  }

  /** PERF: skipping a fifth of a text takes as long as parsing it. The share is measured again now and then. */
  get #isMostlyRead(): boolean {
    if (this.#share < MAX_SHARE || this.#unmeasured === UNMEASURED) {
      this.#unmeasured = 0;
      return false;
    }
    this.#unmeasured += 1;
    return true;
  }

  /** The lines of the elements, without the opening brace. PERF: neighbors are copied together. */
  #partOf(text: string, first: number): string {
    let part = '';
    let start = first;
    let copyFrom = -1;
    for (;;) {
      if (this.#isRead(text, start)) {
        if (copyFrom < 0) copyFrom = start;
      } else if (copyFrom >= 0) {
        part += text.slice(copyFrom, start - ELEMENT_MARK.length);
        copyFrom = -1;
      }
      const end = text.indexOf(ELEMENT_MARK, start);
      if (end < 0) break;
      start = end + ELEMENT_MARK.length;
    }
    // What was copied before the last line ends with a comma.
    return copyFrom >= 0 ? part + text.slice(copyFrom) : `${part.slice(0, -1)}}`;
  }

  #isRead(text: string, start: number): boolean {
    const beginnings = this.#beginnings[text.charCodeAt(start + 1)];
    return beginnings !== undefined && beginnings.some((one) => text.startsWith(one, start));
  }
}

/** Where the first element begins. */
function openingOf(text: string): number {
  return text.startsWith(DECIMALS_MARK) ? DECIMALS_MARK.length + 1 : 1;
}

const MAX_SHARE = 0.75;
const UNMEASURED = 15;

/** The reader for a list of names, which is cached as long as the list. */
export function elementReader(names: readonly string[]): ElementReader {
  let reader = READERS.get(names);
  if (reader === undefined) READERS.set(names, (reader = new ElementReader(names)));
  return reader;
}

const READERS = new WeakMap<readonly string[], ElementReader>();
