/** The longest delay of a timer, in milliseconds; longer ones fire immediately. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

/** Lets other work run: waiting input and output first, where the runtime can do that. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve);
  });
}

/** Waits, but no longer than until the signal fires. Never rejects. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

/** A signal that fires with the first of the given ones; undefined if there is no signal. */
export function eitherSignal(one: AbortSignal, other: AbortSignal | undefined): AbortSignal;
export function eitherSignal(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined;
export function eitherSignal(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one === undefined || other === undefined || one === other ? (one ?? other) : AbortSignal.any([one, other]);
}

/** A value that follows the asynchronous work of a call. */
interface AsyncContext<Value> {
  run<Result>(value: Value, work: () => Result): Result;
  getStore(): Value | undefined;
}

/** Undefined in browsers. Deno, Bun and servers compatible with Node.js have it. */
export function createAsyncContext<Value>(): AsyncContext<Value> | undefined {
  const hooks =
    typeof process === 'object' && typeof process.getBuiltinModule === 'function'
      ? process.getBuiltinModule('node:async_hooks')
      : undefined;
  return hooks === undefined ? undefined : new hooks.AsyncLocalStorage<Value>();
}

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
