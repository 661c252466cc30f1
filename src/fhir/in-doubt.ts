import { ERROR_CODES, FhirError } from './error.js';

/**
 * The error of a write whose end nobody knows: `details.unknown` is true, and the OperationOutcome says the same by a coding.
 * An error of a write without it means that nothing was written.
 *
 * @param consequence what the message says of it
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

/** True for an error after which what it was asked to write may or may not be written. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof FhirError && error.details?.['unknown'] === true;
}

/** `OperationOutcome.issue.details.coding` of an error in doubt. */
const UNKNOWN = { system: 'urn:fhirgraph:write', code: 'unknown' };
