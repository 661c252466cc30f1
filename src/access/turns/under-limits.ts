import type { ResourceStore } from '../../store/store.js';
import type { CallLimits } from '../limits/call-limits.js';
import { parseConcurrency } from '../limits/concurrency.js';
import { timeBefore } from '../limits/request-time.js';
import { type TimeoutOptions, underTimeout } from '../limits/under-timeout.js';
import { inTurn } from './in-turn.js';

/** The context of an operation with limits. */
export interface LimitedContext {
  readonly store: ResourceStore;
  readonly caller: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: CallLimits | undefined;
}

/**
 * Runs an operation when it is its turn, within its remaining time.
 *
 * @param work receives the context with a store that adds the deadline and the budget of bytes to each call
 * @throws FhirError `throttled` - too many requests wait, or it waited too long
 * @throws FhirError `too-costly` - by the timeout
 */
export async function underLimits<Context extends LimitedContext, Result>(
  context: Context,
  work: (context: Context) => Promise<Result>,
  options: TimeoutOptions = {},
): Promise<Result> {
  const { store, caller, signal, limits } = context;
  if (limits === undefined) return underTimeout(context, work, options);
  const concurrency = parseConcurrency(limits.concurrency);
  const before = timeBefore(limits);
  const timeout = limits.timeout === undefined ? undefined : limits.timeout - before;
  return inTurn({ store, caller, concurrency, signal, timeout }, (waited) =>
    underTimeout(context, work, { ...options, waited: before + waited }),
  );
}
