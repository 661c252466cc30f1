import { passedIn } from '../scans/page-statement.js';
import { append } from '../scans/range-walk.js';
import { TUNING } from '../scans/tuning.js';
import type { Placed } from './written-keys.js';

/** Resources that may match. */
export interface Batch {
  readonly numbers: readonly number[];
  readonly keys: readonly string[];
}

/** The matches that a walk through granules has found, and the resources that it tests next in one statement. */
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

  /** The number of matches that the page lacks. */
  get left(): number {
    return this.#need - this.found.length;
  }

  /** The number of resources to test. */
  get size(): number {
    return this.#batch.numbers.length + this.#batch.keys.length;
  }

  /** Counts matches that come before the page. @returns false if the page begins among them */
  passes(size: number, shown: number): boolean {
    if (size > passedIn({ need: this.left, shown })) {
      this.#wanted = this.left + TUNING.firstBatch;
      return false;
    }
    for (let passed = 0; passed < size; passed++) this.found.push(PASSED);
    return true;
  }

  /** Adds resources to test. @returns true if they are enough for one statement */
  takes(numbers: readonly number[], written: readonly Placed[]): boolean {
    for (const number of numbers) this.#batch.numbers.push(number);
    for (const { key } of written) this.#batch.keys.push(key);
    return this.size >= this.#wanted;
  }

  /** Tests the resources. */
  async look(): Promise<void> {
    const batch = this.#batch;
    this.#batch = emptyBatch();
    append(this.found, await this.#collect(batch, this.left));
  }

  /** Tests the resources, and allows more of them the next time. */
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
