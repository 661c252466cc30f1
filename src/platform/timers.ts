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
