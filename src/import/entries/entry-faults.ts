import { andMore } from '../../fhir/messages/quote.js';
import { ERROR_CODES, type ErrorCode, FhirError, maskError } from '../../fhir/error.js';
import type { OutcomeIssue } from '../../fhir/operation-outcome.js';

/** The faults found in a Bundle so far, at most one per entry: the first. */
export class EntryFaults {
  readonly #errors = new Map<number, FhirError>();

  get size(): number {
    return this.#errors.size;
  }

  /** Whether there are more than {@link toError} lists. A transaction with so many is refused without its other entries. */
  get isFull(): boolean {
    return this.#errors.size > MAX_FAULTS;
  }

  has(index: number): boolean {
    return this.#errors.has(index);
  }

  get(index: number): FhirError | undefined {
    return this.#errors.get(index);
  }

  add(index: number, error: unknown): void {
    if (!this.#errors.has(index)) this.#errors.set(index, maskError(error));
  }

  /** Runs the work for one entry and records its error. */
  guard(index: number, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.add(index, error);
    }
  }

  /** As {@link guard}, but aborts and store failures concern the whole import and are rethrown. */
  async guardAsync(index: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (concernsAll(error)) throw error;
      this.add(index, error);
    }
  }

  /**
   * The faults as one error, one issue per entry, of the first {@link MAX_FAULTS} entries at fault.
   *
   * @param size number of entries of the Bundle
   * @returns an error with the code of the first fault; `details.entries` are the positions. The message counts the
   * faults only up to {@link MAX_FAULTS}
   */
  toError(size: number): FhirError {
    const positions = Float64Array.from(this.#errors.keys()).sort();
    const faults = Array.from(positions.subarray(0, MAX_FAULTS), (at) => [at, this.#errors.get(at)!] as const);
    const [index, error] = faults[0]!;
    const more = this.isFull
      ? ` (and at least ${MAX_FAULTS} more of ${size} entries)`
      : andMore(positions, ` of ${size} entries`);
    const code: ErrorCode = error.code;
    return new FhirError(code, `Nothing was imported. Bundle.entry[${index}]: ${error.message}${more}`, {
      issues: faults.map(([at, fault]) => issueAt(at, fault)),
      details: { ...error.details, entries: faults.map(([at]) => at) },
      cause: error,
    });
  }
}

/** An empty entry is two bytes of a Bundle, and its issue 130 of the answer. */
const MAX_FAULTS = 1_000;

/** True for faults of the import as a whole rather than of an entry or line. */
export function concernsAll(error: unknown): boolean {
  const { code } = maskError(error);
  return code === 'aborted' || code === 'unavailable' || code === 'corrupt';
}

function issueAt(index: number, error: FhirError): OutcomeIssue {
  return {
    severity: 'error',
    code: ERROR_CODES[error.code].issue,
    diagnostics: `Entry ${index}: ${error.message}`,
    expression: [`Bundle.entry[${index}].resource`],
  };
}
