import { FhirError } from '../fhir/error.js';

/** The error with the position of the write that it is about. */
export function withIndex(error: FhirError, index: number): FhirError {
  return error.with({ details: { index } });
}

/** The position that an error names; undefined where it is about no write. */
export function failedIndex(error: unknown): number | undefined {
  const index = error instanceof FhirError ? error.details?.['index'] : undefined;
  return typeof index === 'number' ? index : undefined;
}

/** The error without that position, for those to whom it means nothing. */
export function withoutIndex(error: FhirError): FhirError {
  const { index: _index, ...details } = error.details ?? {};
  return new FhirError(error.code, error.message, {
    issues: error.issues,
    ...(Object.keys(details).length === 0 ? {} : { details }),
    cause: error.cause ?? error,
  });
}
