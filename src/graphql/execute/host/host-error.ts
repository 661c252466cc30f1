import { FhirError } from '../../../fhir/error.js';
import { LimitError } from '../../limits.js';

/**
 * The error of a field whose resolver failed. The client sees a `FhirError` of the host; any other error becomes
 * `internal`, and only the host sees its cause. An abort or a limit inside the resolver does not end the request.
 */
export function hostError(error: unknown): FhirError {
  if (error instanceof FhirError && !(error instanceof LimitError) && error.code !== 'aborted') return error;
  return new FhirError('internal', 'Internal error', { cause: error ?? new TypeError('The resolver threw nothing') });
}

/** A fault of the host's code: the client learns only that the field failed. */
export function hostFault(message: string): FhirError {
  return new FhirError('internal', 'Internal error', { cause: new TypeError(message) });
}
