import { FhirError } from './error.js';

/** Receives errors that are not the client's. */
export type ErrorHook = (error: unknown) => void;

/** Errors that operators must learn of. */
const FAULTS: ReadonlySet<string> = new Set(['internal', 'corrupt', 'unavailable']);

/**
 * Reports an error to the host that is not the client's: for `internal` it reports the cause, which answers hide.
 *
 * @returns false if the hook itself failed; nothing of that reaches the client
 */
export function reportError(error: unknown, hook: ErrorHook | undefined): boolean {
  if (error instanceof FhirError && !FAULTS.has(error.code)) return true;
  try {
    hook?.(error instanceof FhirError && error.code === 'internal' ? (error.cause ?? error) : error);
    return true;
  } catch {
    return false;
  }
}
