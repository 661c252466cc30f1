import { FhirError, inDoubt, isInDoubt } from '../../../fhir/error.js';
import { MAX_DELAY_MS } from '../../../platform/runtime.js';
import { callTimedOut } from '../../../store/guards.js';
import type { CallOptions } from '../../../store/call-options.js';

/**
 * Runs work under a signal that also fires at the deadline of its call and so cancels its statement.
 *
 * @throws FhirError `aborted` - with `details.deadline` at the deadline; otherwise as the work throws
 */
export async function untilDeadline<Result>(
  options: CallOptions | undefined,
  work: (options: CallOptions | undefined) => Promise<Result>,
): Promise<Result> {
  if (options?.deadline === undefined) return work(options);
  const left = options.deadline - performance.now();
  if (left <= 0) throw callTimedOut();
  const { signal } = options;
  const controller = new AbortController();
  let late: FhirError | undefined;
  const timer = setTimeout(() => controller.abort((late = callTimedOut())), Math.min(left, MAX_DELAY_MS));
  // PERF (scale): a composite signal takes several times as long as a listener. Work that outlives this call was aborted before.
  const abort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  try {
    return await work({ ...options, signal: controller.signal });
  } catch (error) {
    // The caller's signal may fire while the statement is cancelled, because its time is over too.
    const isOurs = late !== undefined && controller.signal.reason === late;
    throw isOurs && error instanceof FhirError && error.code === 'aborted' ? timedOut(error) : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function timedOut(error: FhirError): FhirError {
  // An error about an unknown outcome also names the deadline.
  if (isInDoubt(error)) return inDoubt(callTimedOut());
  return error.with({ message: callTimedOut().message, details: { deadline: true } });
}

/**
 * Like {@link untilDeadline}, for work that may write. It ends in order if the server cancels it at once. Otherwise it
 * continues in the background: a server that writes a commit to its disk, or compiles a statement, cannot be stopped.
 *
 * @throws FhirError `aborted` - with `details.unknown` if its outcome is not known soon after the deadline
 */
export async function writtenUntilDeadline<Result>(
  options: CallOptions | undefined,
  work: (options: CallOptions | undefined) => Promise<Result>,
): Promise<Result> {
  const deadline = options?.deadline;
  if (deadline === undefined) return work(options);
  return untilDeadline(options, async (bounded) => {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const left = deadline - performance.now() + GRACE_MS;
    const timer = setTimeout(() => reject(inDoubt(callTimedOut())), Math.min(left, MAX_DELAY_MS));
    try {
      return await Promise.race([work(bounded), late]);
    } finally {
      clearTimeout(timer);
    }
  });
}

/** How long after its deadline a call waits for the end of its statement. No call outlives its deadline by 50 ms. */
const GRACE_MS = 30;
