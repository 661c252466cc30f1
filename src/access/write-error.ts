import { FhirError } from '../fhir/error.js';

/** The error with the position of the write that it is about. */
export function withIndex(error: FhirError, index: number): FhirError {
  return new FhirError(error.code, error.message, {
    issues: error.issues,
    details: { ...error.details, index },
    cause: error.cause ?? error,
  });
}
