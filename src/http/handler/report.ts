import { FhirError } from '../../fhir/error.js';
import { warn } from '../../platform/warn.js';
import { reportError } from '../../fhir/report-error.js';
import type { FhirHandlerConfig } from '../exchange/handler-config.js';

/** @returns a function that reports errors to the host, except errors of the client */
export function reporterOf(
  { onError = warnOfError }: Pick<FhirHandlerConfig, 'onError'>,
  request: Request,
): (error: unknown) => void {
  return (error) => {
    const failed = (): void => warn('onError of createFhirHandler threw an error', WARNING);
    reportError(error, (reported) => onError(reported, request), failed);
  };
}

/** Without the cause, which may hold clinical data. */
function warnOfError(error: unknown): void {
  const code = error instanceof FhirError ? error.code : 'internal';
  warn(`A request failed (${code}); set onError of createFhirHandler to receive the cause`, WARNING);
}

const WARNING = 'FHIRGRAPH_HANDLER';
