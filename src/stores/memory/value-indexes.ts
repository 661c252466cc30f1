import type { StringTest } from '../../search/criteria/value-test.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { CodeIndex } from './code-index.js';
import { SharedSteps } from '../../platform/shared-work.js';
import { STEP } from './step.js';
import { TextIndex } from './text-index.js';
import type { ValueIndex } from './value-index.js';
import { getOrCreate } from '../../platform/collections.js';

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
