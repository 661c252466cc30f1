import { ERROR_CODES, FhirError } from './error.js';

/**
 * Marks an error of a write with an unknown outcome: `details.unknown` is true, and the OperationOutcome has a coding
 * that says the same. A write error without this mark means that nothing was written.
 *
 * @param consequence what the message says about the outcome
 */
export function inDoubt(error: FhirError, consequence = 'whether it was written is not known'): FhirError {
  if (isInDoubt(error)) return error;
  const message = `${error.message}; ${consequence}`;
  return new FhirError(error.code, message, {
    issues: [{ code: ERROR_CODES[error.code].issue, diagnostics: message, coding: UNKNOWN }],
    details: { ...error.details, unknown: true },
    cause: error.cause ?? error,
  });
}

/** True if the write that failed with this error may nevertheless have been committed. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof FhirError && error.details?.['unknown'] === true;
}

const UNKNOWN = { system: 'urn:fhirgraph:write', code: 'unknown' };
