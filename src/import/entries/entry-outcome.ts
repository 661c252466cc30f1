import type { Bundle } from '@medplum/fhirtypes';
import type { GuardedKey } from '../../access/contract.js';
import { ERROR_CODES, type ErrorCode, FhirError, maskError, type OutcomeIssue } from '../../fhir/error.js';
import { andMore } from '../../fhir/messages.js';
import { referenceTo } from '../../fhir/reference.js';
import { type AnyResource, entityTag } from '../../fhir/resource.js';
import { writeWarningOutcome } from '../../fhir/write-warning.js';
import { mapInTurns, Pace } from '../../platform/pace.js';
import type { StoredResource } from '../../store/stored-resource.js';

/** The outcome of one entry. */
export type EntryOutcome =
  | { readonly kind: 'created' | 'updated' | 'unchanged'; readonly key: GuardedKey; readonly stored: StoredVersion }
  | { readonly kind: 'deleted'; readonly versionId: string | null }
  | { readonly kind: 'read'; readonly resource: AnyResource; readonly stored?: StoredVersion; readonly head: boolean }
  /** The sender has this version already (`ifNoneMatch`). */
  | { readonly kind: 'not-modified'; readonly stored: StoredVersion }
  | { readonly kind: 'failed'; readonly error: FhirError };

/** A version without its content, which write results create only on demand. */
type StoredVersion = Pick<StoredResource, 'versionId' | 'lastUpdated'>;

/** The result of an import. */
export interface ImportResult {
  /** `transaction-response` or `batch-response`: one entry per entry of the Bundle, same order. */
  readonly bundle: Bundle;
  readonly created: number;
  /** Resources with a new version. */
  readonly updated: number;
  readonly deleted: number;
  /** Resources with unchanged content, and conditional creates with a match. */
  readonly unchanged: number;
  /** Entries of a batch that could not be processed; their outcome is in the bundle. Always 0 for a transaction. */
  readonly failed: number;
}

/** @param outcomes one per entry of the Bundle */
export async function toImportResult(
  type: 'transaction' | 'batch',
  outcomes: readonly EntryOutcome[],
): Promise<ImportResult> {
  const counts = { created: 0, updated: 0, deleted: 0, unchanged: 0, failed: 0, read: 0, 'not-modified': 0 };
  const entry = await mapInTurns(outcomes, new Pace(), (outcome) => {
    if (outcome.kind !== 'deleted' || outcome.versionId !== null) counts[outcome.kind] += 1;
    return toEntry(outcome);
  });
  const { created, updated, deleted, unchanged, failed } = counts;
  // Resources are passed through, whatever their type.
  const bundle: Bundle = { resourceType: 'Bundle', type: `${type}-response`, entry };
  return { bundle, created, updated, deleted, unchanged, failed };
}

/** `Bundle.entry.response`; see https://hl7.org/fhir/R4/bundle-definitions.html#Bundle.entry.response. */
function toEntry(outcome: EntryOutcome): object {
  switch (outcome.kind) {
    case 'created':
      return { response: { status: '201 Created', ...written(outcome) } };
    case 'updated':
    case 'unchanged':
      return { response: { status: '200 OK', ...written(outcome) } };
    case 'deleted': {
      const etag = outcome.versionId === null ? {} : { etag: entityTag(outcome.versionId) };
      return { response: { status: '204 No Content', ...etag } };
    }
    case 'read': {
      const response = { status: '200 OK', ...(outcome.stored === undefined ? {} : version(outcome.stored)) };
      return outcome.head ? { response } : { resource: outcome.resource, response };
    }
    case 'not-modified':
      return { response: { status: '304 Not Modified', ...version(outcome.stored) } };
    case 'failed': {
      const { error } = outcome;
      return { response: { status: `${error.status} ${REASONS[error.status] ?? 'Error'}`, outcome: error.outcome } };
    }
  }
}

function written({ key, stored }: { readonly key: GuardedKey; readonly stored: StoredVersion }): object {
  const outcome = writeWarningOutcome(key.type);
  return {
    location: referenceTo(key.type, key.id, stored.versionId),
    ...version(stored),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

function version({ versionId, lastUpdated }: StoredVersion): { etag: string; lastModified: string } {
  return { etag: entityTag(versionId), lastModified: lastUpdated };
}

const REASONS: { readonly [status: number]: string } = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  422: 'Unprocessable Entity',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

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
