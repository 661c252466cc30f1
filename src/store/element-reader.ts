import { oncePer } from '../platform/collections.js';
import type { AnyResource } from '../fhir/resource.js';
import { DECIMALS_MARK, ELEMENT_MARK, parseJsonText } from './json-text.js';

/**
 * Reads some elements of resources from the texts of `jsonLines`.
 *
 * PERF (wide): the time of `JSON.parse` grows with the values that it creates. For a Patient with a narrative, a third of the
 * time remains.
 */
export class ElementReader {
  /** The lines to read, by the code of the first letter. */
  readonly #lines: (readonly ElementLine[] | undefined)[] = [];
  /** The share of a text that is read, as learned from earlier texts. */
  #share = 0.5;
  /** How many texts are parsed whole between two that are measured, and how many of them are left. */
  #pause = MIN_PAUSE;
  #unmeasured = 0;
  /** The type of the last text read by line, and how such texts begin. */
  #type = '';
  #beginning = NO_BEGINNING;

  /** @param names the elements to read; `resourceType` and `id` are always read. */
  constructor(names: readonly string[]) {
    for (const name of new Set(['resourceType', 'id', ...names])) {
      const letter = name.charCodeAt(0);
      this.#lines[letter] = [...(this.#lines[letter] ?? []), { name, beginning: `"${name}":` }];
    }
  }

  /** Whether it is better to parse all of a text: it has no lines, or nearly all of its elements are needed. */
  prefersWhole(text: string): boolean {
    if (this.#isMostlyRead) return true;
    const open = openingOf(text);
    return !text.startsWith(ELEMENT_MARK, open) || !text.endsWith('}');
  }

  /** The resource with these elements, from a text with lines. @throws SyntaxError - not JSON */
  read(text: string): AnyResource {
    const open = openingOf(text);
    const first = open + ELEMENT_MARK.length;
    if (open === 1 && text.length <= MAX_BY_LINE) return this.#readByLine(text, first);
    const part = this.#partOf(text, first);
    this.#note(part.length / text.length);
    return parseJsonText(text.slice(0, open) + part);
  }

  /**
   * Takes three quarters of the time of parsing the lines together: a string without escapes is a slice of the
   * text. The slice keeps the text in memory, which must be short therefore.
   */
  #readByLine(text: string, first: number): AnyResource {
    const hasEscapes = text.includes('\\');
    const isOfType = text.startsWith(this.#beginning);
    const resource: { [name: string]: unknown } = isOfType ? { resourceType: this.#type } : {};
    let start = isOfType ? this.#beginning.length : first;
    let read = start;
    for (;;) {
      const next = text.indexOf(ELEMENT_MARK, start);
      const line = this.#lineAt(text, start);
      if (line !== undefined) {
        const from = start + line.beginning.length;
        // Before the comma, or the brace of the end.
        const end = (next < 0 ? text.length : next) - 1;
        const isString = end - from > 1 && text.charCodeAt(from) === QUOTE && text.charCodeAt(end - 1) === QUOTE;
        resource[line.name] =
          isString && !hasEscapes ? text.slice(from + 1, end - 1) : JSON.parse(text.slice(from, end));
        read += end - start;
      }
      if (next < 0) break;
      start = next + ELEMENT_MARK.length;
    }
    this.#note(read / text.length);
    if (!isOfType) this.#noteType(text, resource['resourceType']);
    return resource as unknown as AnyResource;
  }

  /** Comparisons and look-ups by type are faster if the name is always the same string object. */
  #noteType(text: string, type: unknown): void {
    const line = `"resourceType":${JSON.stringify(type)},`;
    const beginning = `{${ELEMENT_MARK}${line}${ELEMENT_MARK}`;
    if (typeof type !== 'string' || !text.startsWith(beginning)) return;
    this.#beginning = beginning;
    // A copy: a slice would keep its text in memory.
    this.#type = JSON.parse(JSON.stringify(type)) as string;
  }

  #note(share: number): void {
    this.#share += (share - this.#share) / 8;
    const isLess = share < MAX_SHARE || this.#share < MAX_SHARE;
    this.#pause = isLess ? MIN_PAUSE : Math.min(MAX_PAUSE, this.#pause * 2);
    this.#unmeasured = this.#pause;
  }

  /**
   * Skipping a fifth of a text takes as long as parsing it. The share is measured again now and then, less often as
   * long as it is the same: a text that is measured takes twice the time.
   */
  get #isMostlyRead(): boolean {
    if (this.#share < MAX_SHARE || this.#unmeasured === 0) return false;
    this.#unmeasured -= 1;
    return true;
  }

  /** The lines of the elements, without the opening brace. Neighbors are copied together. */
  #partOf(text: string, first: number): string {
    let part = '';
    let start = first;
    let copyFrom = -1;
    for (;;) {
      if (this.#lineAt(text, start) !== undefined) {
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

  #lineAt(text: string, start: number): ElementLine | undefined {
    const lines = this.#lines[text.charCodeAt(start + 1)];
    if (lines === undefined) return undefined;
    for (const line of lines) if (text.startsWith(line.beginning, start)) return line;
    return undefined;
  }
}

interface ElementLine {
  readonly name: string;
  readonly beginning: string;
}

/** Where the first element begins. */
function openingOf(text: string): number {
  return text.startsWith(DECIMALS_MARK) ? DECIMALS_MARK.length + 1 : 1;
}

/** No text begins with this. */
const NO_BEGINNING = ELEMENT_MARK;
const QUOTE = 0x22;
/** Length of a text, in UTF-16 code units. */
const MAX_BY_LINE = 8 * 1024;

const MAX_SHARE = 0.75;
/** In texts. */
const MIN_PAUSE = 15;
const MAX_PAUSE = 480;

/** The reader for a list of names, which is cached as long as the list. */
export const elementReader = oncePer((names: readonly string[]) => new ElementReader(names));
