import { FhirError } from './error.js';

/**
 * The error of a write whose end nobody knows: `details.unknown` is true. An error of a write without it means that nothing
 * was written.
 */
export function inDoubt(error: FhirError): FhirError {
  if (isInDoubt(error)) return error;
  return new FhirError(error.code, `${error.message}; whether it was written is not known`, {
    details: { ...error.details, unknown: true },
    cause: error.cause ?? error,
  });
}

/** True for an error after which what it was asked to write may or may not be written. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof FhirError && error.details?.['unknown'] === true;
}
