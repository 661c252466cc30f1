import { FhirError } from './error.js';

/** Receives errors that are not the client's. */
export type ErrorHook = (error: unknown) => void;

/** Errors that operators must learn of. */
const FAULTS: ReadonlySet<string> = new Set(['internal', 'corrupt', 'unavailable']);

/**
 * Reports an error to the host that is not the client's: for `internal` it reports the cause, which answers hide.
 *
 * @param failed called if the hook fails, at once or in the promise of an async function; clients learn nothing of it
 */
export function reportError(error: unknown, hook: ErrorHook | undefined, failed: () => void = () => undefined): void {
  if (error instanceof FhirError && !FAULTS.has(error.code)) return;
  try {
    const taken: unknown = hook?.(
      error instanceof FhirError && error.code === 'internal' ? (error.cause ?? error) : error,
    );
    Promise.resolve(taken).catch(failed);
  } catch {
    failed();
  }
}
