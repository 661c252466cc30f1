import { FhirError } from '../../fhir/error.js';
import { eitherSignal, MAX_DELAY_MS } from '../../platform/timers.js';
import { callTimedOut } from '../../store/guards.js';
import type { CallOptions } from '../../store/store.js';

/**
 * Runs work under a signal that also fires at the deadline of its call and so cancels its statement.
 *
 * @throws FhirError `aborted` - with `details.deadline` where it was the deadline, and as the work throws otherwise
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
  const timer = setTimeout(() => controller.abort(callTimedOut()), Math.min(left, MAX_DELAY_MS));
  try {
    return await work({ ...options, signal: eitherSignal(controller.signal, signal) });
  } catch (error) {
    const isOurs = controller.signal.aborted && signal?.aborted !== true;
    throw isOurs && error instanceof FhirError && error.code === 'aborted'
      ? error.with({ message: callTimedOut().message, details: { deadline: true } })
      : error;
  } finally {
    clearTimeout(timer);
  }
}
