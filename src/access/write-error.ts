import { FhirError } from '../fhir/error.js';

/** Adds the position of the faulty write to an error. */
export function withIndex(error: FhirError, index: number): FhirError {
  return error.with({ details: { index } });
}

/** The position in an error; undefined if it is not about a write. */
export function failedIndex(error: unknown): number | undefined {
  const index = error instanceof FhirError ? error.details?.['index'] : undefined;
  return typeof index === 'number' ? index : undefined;
}

/** Removes the position, for callers to whom it means nothing. */
export function withoutIndex(error: FhirError): FhirError {
  const { index: _index, ...details } = error.details ?? {};
  return new FhirError(error.code, error.message, {
    issues: error.issues,
    ...(Object.keys(details).length === 0 ? {} : { details }),
    cause: error.cause ?? error,
  });
}
