/**
 * Reports a fault of host code that nobody awaits: as a process warning, or on the console of a browser. Listeners of
 * `warning` find the code in its `code`.
 */
export function warn(error: unknown, code: string): void {
  // Node.js ignores the options of a warning that is an Error.
  const message = error instanceof Error ? error.message : String(error);
  if (typeof process === 'object' && typeof process.emitWarning === 'function') process.emitWarning(message, { code });
  // eslint-disable-next-line no-console -- browsers have no process to warn
  else console.warn(code, message);
}
