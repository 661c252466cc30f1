/** Runs work and returns the warnings of the process that it caused, as listeners of `warning` get them. */
export async function warningsOf(work: () => unknown): Promise<readonly (Error & { readonly code?: string })[]> {
  const warnings: (Error & { readonly code?: string })[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  // Otherwise Node.js prints them.
  const printed = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', listen);
  try {
    await work();
    // Warnings are emitted in the next tick.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', listen);
    for (const one of printed) process.on('warning', one);
  }
  return warnings;
}
