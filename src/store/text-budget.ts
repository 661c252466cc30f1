import { FhirError } from '../fhir/error.js';
import { MAX_RESOURCE_BYTES } from './json-text.js';

/** The default of {@link TextBudget.max}, in bytes: 128 MiB, as much as the largest resource. */
export const DEFAULT_TEXT_BYTES = MAX_RESOURCE_BYTES;

/**
 * How much the calls of a request may read: the JSON texts of resources as stored, in bytes of UTF-8. A text counts each
 * time that it is read, also one that the store keeps in memory.
 */
export class TextBudget {
  #spent = 0;

  /** @param max in bytes */
  constructor(readonly max: number = DEFAULT_TEXT_BYTES) {}

  /** The bytes that are left. */
  get left(): number {
    return this.max - this.#spent;
  }

  spend(bytes: number): void {
    this.#spent += bytes;
  }
}

/** A page that may end early, if its caller can continue after its last entry. */
export class ShortPage {
  /** @param mayBeEmpty true if the page continues another; otherwise it has at least one entry, or the call rejects */
  constructor(readonly mayBeEmpty = false) {}

  /** Set by the store: the page ended early, because the texts of its next entries exceed the budget. */
  isCut = false;
}

/** Counts the texts that one call reads. */
export class CallTexts {
  readonly #budget: TextBudget | undefined;
  readonly #page: ShortPage | undefined;
  /** How much is left of the budget when a page ends early: half of it, so that other reads of the request have a part. */
  readonly #floor: number;
  #count = 0;
  #isDone = false;

  /** @param page undefined: the call rejects instead of answering less */
  constructor(options: { readonly budget?: TextBudget | undefined } | undefined, page?: ShortPage) {
    this.#budget = options?.budget;
    this.#page = page;
    this.#floor = page === undefined ? 0 : Math.ceil((options?.budget?.left ?? 0) / 2);
  }

  /** True if texts are counted. */
  get isBounded(): boolean {
    return this.#budget !== undefined;
  }

  /** True until a text is counted. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** How many bytes the call may still read. A first text may be longer. */
  get room(): number {
    return this.#page?.isCut === true ? 0 : (this.#budget?.left ?? Infinity) - this.#floor;
  }

  /**
   * Counts a text, best before it is read.
   *
   * @param bytes Infinity for a text that is known to exceed the budget
   * @returns false if the page ends before it
   * @throws FhirError `too-costly` - with `details.limit` `bytes`
   */
  takes(bytes: number): boolean {
    if (this.#budget === undefined) return true;
    const isFirst = this.isEmpty && this.#page?.mayBeEmpty !== true;
    if (bytes > (isFirst ? this.#budget.left : this.room)) {
      if (this.#page === undefined || isFirst) throw tooManyBytes(this.#budget.max);
      this.#page.isCut = true;
      return false;
    }
    this.#count += 1;
    this.#budget.spend(bytes);
    return true;
  }

  /** True once {@link once} has counted. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Counts what the call reads, unless it was counted before: a call may begin again. */
  once(count: () => unknown): void {
    if (this.#isDone) return;
    count();
    this.#isDone = true;
  }

  /** How many of the first texts fit. @throws FhirError as {@link takes} */
  fitting(sizes: Iterable<number>): number {
    let count = 0;
    for (const bytes of sizes) {
      if (!this.takes(bytes)) break;
      count += 1;
    }
    return count;
  }
}

function tooManyBytes(max: number): FhirError {
  return new FhirError(
    'too-costly',
    `The request reads more than ${max} bytes of resources; narrow its searches, ask for smaller pages with _count, or split it`,
    { details: { limit: 'bytes', max } },
  );
}
