/** A value that follows the asynchronous work of a call. */
export interface AsyncContext<Value> {
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
