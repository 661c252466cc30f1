import type { StringTest } from '../../search/criteria/value-test.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { CodeIndex } from './code-index.js';
import { STEP } from './step.js';
import { TextIndex } from './text-index.js';
import type { ValueIndex } from './value-index.js';

/** The indexes of a type, each made for a parameter that is asked for, in steps. */
export class ValueIndexes {
  readonly #codes = new Map<string, CodeIndex>();
  readonly #texts = new Map<string, TextIndex>();

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
    const index = yield* made(this.#codes, current, parameter, () => new CodeIndex(parameter));
    return index.find(codes, most);
  }

  /** @returns undefined if no range of texts has few matches; otherwise maybe also others than matches */
  *withText(
    current: Iterable<SearchSubject>,
    parameter: string,
    test: StringTest,
    most: number,
  ): Generator<void, readonly SearchSubject[] | undefined> {
    const index = yield* made(this.#texts, current, parameter, () => new TextIndex(parameter));
    return index.find(test, most);
  }

  /** Keeps what was made. */
  replace(before: SearchSubject | undefined, after: SearchSubject | undefined): void {
    for (const indexes of [this.#codes, this.#texts]) {
      for (const index of indexes.values()) {
        if (before !== undefined) index.remove(before);
        if (after !== undefined) index.add(after);
      }
    }
  }
}

/** Nothing is written between the steps, so an index is whole when it is kept. Two searches may make the same one. */
function* made<Index extends ValueIndex>(
  indexes: Map<string, Index>,
  current: Iterable<SearchSubject>,
  parameter: string,
  make: () => Index,
): Generator<void, Index> {
  const known = indexes.get(parameter);
  if (known !== undefined) return known;
  const index = make();
  let left = STEP;
  for (const subject of current) {
    index.add(subject);
    if (--left > 0) continue;
    left = STEP;
    yield;
  }
  yield* index.complete?.() ?? [];
  indexes.set(parameter, index);
  return index;
}
