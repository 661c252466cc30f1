import { sorting } from '../../platform/collections.js';
import { type StringTest, wordParts } from '../../search/criteria/value-test.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { compareIds } from '../../search/evaluate/sort.js';
import { fold } from '../../search/index/fold.js';
import { firstPlace } from '../first-place.js';
import { STEP } from './step.js';
import type { ValueIndex } from './value-index.js';

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
