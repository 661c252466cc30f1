import { type ErrorCode, FhirError, type OutcomeIssue } from '../../../fhir/error.js';
import type { SentError } from './protocol.js';

/** Converts an error for the way out of a thread. Its cause is included as text, for the host's log. */
export function sendError({ code, message, issues, details, cause }: FhirError): SentError {
  const { code: causeCode, message: causeMessage } = (cause ?? {}) as { code?: unknown; message?: unknown };
  return {
    code,
    message,
    issues,
    details,
    cause: {
      code: typeof causeCode === 'string' ? causeCode : undefined,
      message: typeof causeMessage === 'string' ? causeMessage : '',
    },
  };
}

/** The error that a thread sent. */
export function receiveError({ code, message, issues, details, cause }: SentError): FhirError {
  return new FhirError(code as ErrorCode, message, {
    issues: issues as readonly OutcomeIssue[],
    details,
    ...(cause.message === '' ? {} : { cause: Object.assign(new Error(cause.message), { code: cause.code }) }),
  });
}
