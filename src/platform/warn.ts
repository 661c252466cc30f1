/** Reports a fault of host code that nobody awaits: as a process warning, or on the console of a browser. */
export function warn(error: unknown, code: string): void {
  const warning = error instanceof Error ? error : String(error);
  if (typeof process === 'object' && typeof process.emitWarning === 'function') process.emitWarning(warning, { code });
  // eslint-disable-next-line no-console -- browsers have no process to warn
  else console.warn(code, warning);
}
