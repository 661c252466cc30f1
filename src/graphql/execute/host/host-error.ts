import { FhirError } from '../../../fhir/error.js';
import { LimitError } from '../../limits.js';

/**
 * The error of a field whose resolver failed. What the host throws as a `FhirError` is for the client; anything else is
 * `internal`, with the cause for the host alone. The end of something inside the resolver is not that of the request.
 */
export function hostError(error: unknown): FhirError {
  if (error instanceof FhirError && !(error instanceof LimitError) && error.code !== 'aborted') return error;
  return new FhirError('internal', 'Internal error', { cause: error ?? new TypeError('The resolver threw nothing') });
}

/** A fault of the host's code: the client learns only that the field failed. */
export function hostFault(message: string): FhirError {
  return new FhirError('internal', 'Internal error', { cause: new TypeError(message) });
}
