import { FhirError } from '../fhir/error.js';

/**
 * The items of a source of the host. Ends early when the signal aborts, even while waiting for the source; the source is always
 * closed.
 *
 * @throws FhirError `aborted`
 */
export async function* abortable<Item>(
  items: AsyncIterator<Item> | Iterator<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, void> {
  let interrupt: ((reason: FhirError) => void) | undefined;
  const abortion = (): FhirError => new FhirError('aborted', 'The import was aborted', { cause: signal?.reason });
  const onAbort = (): void => interrupt?.(abortion());
  signal?.addEventListener('abort', onAbort);
  let finished = false;
  try {
    for (;;) {
      if (signal?.aborted === true) throw abortion();
      // A new promise per item: racing a long-lived promise would retain all items.
      const { done, value } = await new Promise<IteratorResult<Item>>((resolve, reject) => {
        interrupt = reject;
        Promise.resolve(items.next()).then(resolve, reject);
      });
      if (done === true) break;
      yield value;
    }
    finished = true;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    // Not awaited: a source that hangs in `next` would never settle.
    if (!finished) void Promise.resolve(items.return?.()).catch(() => undefined);
  }
}
