import { MAX_DELAY_MS } from '../platform/timers.js';
import { callAborted, callTimedOut } from './guards.js';
import type { CallOptions } from './call-options.js';

/**
 * Settles like the work, or rejects when the call ends. The work continues: other calls may share it, or it is cleaned up
 * in the background.
 *
 * @throws FhirError `aborted` - by the signal or the deadline of the call
 */
export async function untilCallEnds<Result>(
  work: Promise<Result>,
  { signal, deadline }: Pick<CallOptions, 'signal' | 'deadline'> = {},
): Promise<Result> {
  if (signal === undefined && deadline === undefined) return work;
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(callAborted(signal));
  const left = deadline === undefined ? undefined : Math.min(Math.max(0, deadline - performance.now()), MAX_DELAY_MS);
  const timer = left === undefined ? undefined : setTimeout(() => reject(callTimedOut()), left);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
