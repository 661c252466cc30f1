import { firstPlace, getOrCreate, sorting } from '../../platform/collections.js';
import { SharedSteps } from '../../platform/shared-work.js';
import { type StringTest, wordParts } from '../../search/criteria/value-test.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { compareIds } from '../../search/evaluate/sort.js';
import { fold } from '../../search/index/fold.js';
import { STEP } from './time-limit.js';

/** The indexes of a type. The first search by a parameter makes its index, in steps. */
export class ValueIndexes {
  readonly #codes = new Map<string, SharedSteps<CodeIndex>>();
  readonly #texts = new Map<string, SharedSteps<TextIndex>>();

  /**
   * @param current the current resources of the type
   * @returns undefined if more than `most` have the codes
   */
  *withCode(
    current: Iterable<SearchSubject>,
    parameter: string,
    codes: readonly string[],
    most: number,
  ): Generator<void, readonly SearchSubject[] | undefined> {
    const steps = getOrCreate(this.#codes, parameter, () => new SharedSteps(made(new CodeIndex(parameter), current)));
    const index = yield* steps.finishing();
    return index.find(codes, most);
  }

  /** @returns undefined if no range of texts has few matches; otherwise maybe also others than matches */
  *withText(
    current: Iterable<SearchSubject>,
    parameter: string,
    test: StringTest,
    most: number,
  ): Generator<void, readonly SearchSubject[] | undefined> {
    const steps = getOrCreate(this.#texts, parameter, () => new SharedSteps(made(new TextIndex(parameter), current)));
    const index = yield* steps.finishing();
    return index.find(test, most);
  }

  /** Updates the indexes. Searches that ended early left the unfinished ones. */
  replace(before: SearchSubject | undefined, after: SearchSubject | undefined): void {
    for (const indexes of [this.#codes, this.#texts]) {
      for (const [parameter, { result: index }] of indexes) {
        if (index === undefined) indexes.delete(parameter);
        else {
          if (before !== undefined) index.remove(before);
          if (after !== undefined) index.add(after);
        }
      }
    }
  }
}

function* made<Index extends ValueIndex>(index: Index, current: Iterable<SearchSubject>): Generator<void, Index> {
  let left = STEP;
  for (const subject of current) {
    index.add(subject);
    if (--left > 0) continue;
    left = STEP;
    yield;
  }
  yield* index.complete?.() ?? [];
  return index;
}

/** The current resources of a type by the codes that a token parameter has in them. */
class CodeIndex implements ValueIndex {
  readonly #byCode = new Map<string, Set<SearchSubject>>();

  constructor(readonly parameter: string) {}

  /** @returns undefined if they are more than `most` */
  find(codes: readonly string[], most: number): readonly SearchSubject[] | undefined {
    const sets = [...new Set(codes)].flatMap((code) => this.#byCode.get(code) ?? []);
    if (sets.reduce((sum, { size }) => sum + size, 0) > most) return undefined;
    return [...new Set(sets.flatMap((one) => [...one]))];
  }

  add(subject: SearchSubject): void {
    for (const code of this.#codesOf(subject)) getOrCreate(this.#byCode, code, () => new Set()).add(subject);
  }

  remove(subject: SearchSubject): void {
    for (const code of this.#codesOf(subject)) {
      const having = this.#byCode.get(code);
      having?.delete(subject);
      if (having?.size === 0) this.#byCode.delete(code);
    }
  }

  *#codesOf({ entries }: SearchSubject): Iterable<string> {
    for (const { value } of entries.get(this.parameter) ?? []) {
      if (value.kind === 'token' && value.code !== undefined) yield value.code;
    }
  }
}

/** One folded text that a resource has. */
interface Entry {
  readonly text: string;
  readonly subject: SearchSubject;
}

/** The current resources of a type by the folded texts that a string parameter has in them, in the order of these. */
export class TextIndex implements ValueIndex {
  #ordered: Entry[] = [];
  /** Entries of resources that were there when the index was made; they are ordered at its end. */
  #unordered: Entry[] | undefined = [];

  constructor(readonly parameter: string) {}

  /**
   * The resources that have a text that passes the test, and maybe others.
   *
   * @returns undefined if they have more than `most` such texts, or more than a range of texts passes
   */
  find(test: StringTest, most: number): readonly SearchSubject[] | undefined {
    const { comparator, text } = test;
    // Texts that differ in case and accents alone are the same when folded.
    const from = comparator === 'exact' ? fold(text) : text;
    switch (comparator) {
      case 'equals':
      case 'exact':
        return this.#range(from, (one) => one === from, most);
      case 'starts-with':
        return this.#range(from, (one) => one.startsWith(from), most);
      case 'words-start-with':
      case 'words-equal': {
        const { start } = wordParts(test);
        return this.#range(start, (one) => one.startsWith(start), most);
      }
      default:
        return undefined;
    }
  }

  add(subject: SearchSubject): void {
    for (const text of this.#textsOf(subject)) {
      const entry = { text, subject };
      if (this.#unordered === undefined) this.#ordered.splice(this.#placeOf(entry), 0, entry);
      else this.#unordered.push(entry);
    }
  }

  remove(subject: SearchSubject): void {
    for (const text of this.#textsOf(subject)) {
      const place = this.#placeOf({ text, subject });
      if (this.#ordered[place]?.subject === subject) this.#ordered.splice(place, 1);
    }
  }

  *complete(): Generator<void, void> {
    this.#ordered = yield* sorting(this.#unordered ?? [], compareEntries, { run: STEP });
    this.#unordered = undefined;
  }

  #textsOf({ entries }: SearchSubject): ReadonlySet<string> {
    const values = entries.get(this.parameter) ?? [];
    return new Set(values.flatMap(({ value }) => (value.kind === 'string' ? value.folded : [])));
  }

  #range(from: string, isIn: (text: string) => boolean, most: number): readonly SearchSubject[] | undefined {
    const entries = this.#ordered;
    const low = firstPlace(entries.length, (place) => entries[place]!.text < from);
    const high = firstPlace(entries.length, (place) => place < low || isIn(entries[place]!.text));
    if (high - low > most) return undefined;
    return [...new Set(entries.slice(low, high).map(({ subject }) => subject))];
  }

  #placeOf(entry: Entry): number {
    return firstPlace(this.#ordered.length, (place) => compareEntries(this.#ordered[place]!, entry) < 0);
  }
}

function compareEntries(a: Entry, b: Entry): number {
  return compareIds(a.text, b.text) || compareIds(a.subject.id, b.subject.id);
}

/** By what values of a parameter the current resources of a type are found. */
interface ValueIndex {
  add(subject: SearchSubject): void;
  remove(subject: SearchSubject): void;
  /** Ends the making of the index, in steps. */
  complete?(): Generator<void, void>;
}
