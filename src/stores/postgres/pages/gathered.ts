import { passedIn } from '../scans/page-statement.js';
import { append } from '../scans/range-walk.js';
import { TUNING } from '../scans/tuning.js';
import type { Placed } from './written-keys.js';

/** Resources that may match. */
export interface Batch {
  readonly numbers: readonly number[];
  readonly keys: readonly string[];
}

/** What a walk through granules has found, and the resources of the last granules that it has yet to look at, together. */
export class Gathered {
  readonly found: string[] = [];
  readonly #need: number;
  readonly #collect: (batch: Batch, need: number) => Promise<readonly string[]>;
  #batch = emptyBatch();
  #wanted: number;

  /** @param collect finds the matches among resources, in order */
  constructor(need: number, collect: (batch: Batch, need: number) => Promise<readonly string[]>) {
    this.#need = need;
    this.#collect = collect;
    this.#wanted = need + TUNING.firstBatch;
  }

  /** Matches that the page lacks. */
  get left(): number {
    return this.#need - this.found.length;
  }

  /** Resources yet to be looked at. */
  get size(): number {
    return this.#batch.numbers.length + this.#batch.keys.length;
  }

  /** Adds as many matches that come before the page. @returns false if the page begins among them */
  passes(size: number, shown: number): boolean {
    if (size > passedIn({ need: this.left, shown })) {
      this.#wanted = this.left + TUNING.firstBatch;
      return false;
    }
    for (let passed = 0; passed < size; passed++) this.found.push(PASSED);
    return true;
  }

  /** Adds resources to those yet to be looked at. @returns true if these are enough for one statement */
  takes(numbers: readonly number[], written: readonly Placed[]): boolean {
    for (const number of numbers) this.#batch.numbers.push(number);
    for (const { key } of written) this.#batch.keys.push(key);
    return this.size >= this.#wanted;
  }

  /** Looks at them. */
  async look(): Promise<void> {
    const batch = this.#batch;
    this.#batch = emptyBatch();
    append(this.found, await this.#collect(batch, this.left));
  }

  /** The same, and the next ones are more. */
  async lookFurther(): Promise<void> {
    await this.look();
    this.#wanted = Math.min(2 * this.#wanted, TUNING.maxBatch);
  }
}

/** A match before the page. */
const PASSED = '';

function emptyBatch(): { readonly numbers: number[]; readonly keys: string[] } {
  return { numbers: [], keys: [] };
}
