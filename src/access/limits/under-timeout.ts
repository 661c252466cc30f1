import { ERROR_CODES, FhirError } from '../../fhir/error.js';
import { eitherSignal, MAX_DELAY_MS } from '../../platform/timers.js';
import { callAborted, callTimedOut } from '../../store/guards.js';
import type { ResourceStore } from '../../store/store.js';
import { withCallOptions } from '../../store/with-call-options.js';
import { assertTimeout, type CallLimits, textBudget } from './call-limits.js';

/** A context with a store and a limit of time. */
export interface TimedContext {
  readonly store: ResourceStore;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: CallLimits | undefined;
}

export interface TimeoutOptions {
  /** Nothing ends the operation after its first commit: it consists of one write and its answer. Default false. */
  readonly untilWritten?: boolean | undefined;
  /** How much of the time has already passed, in milliseconds. Default 0. */
  readonly waited?: number | undefined;
}

/**
 * Runs an operation that ends by `limits.timeout`, and reads as much as `limits.bytes` allows.
 *
 * @param work receives the context with a store that adds the deadline and the budget to each call, and a signal that fires at the
 * deadline, for long work between the calls
 * @throws FhirError `too-costly` - with `details.limit` `timeout`, and `details.unknown` as the store says
 */
export async function underTimeout<Context extends TimedContext, Result>(
  context: Context,
  work: (context: Context) => Promise<Result>,
  { untilWritten = false, waited = 0 }: TimeoutOptions = {},
): Promise<Result> {
  const timeout = context.limits?.timeout;
  assertTimeout(timeout);
  const budget = textBudget(context.limits);
  if (timeout === undefined || timeout > MAX_DELAY_MS) {
    return work({ ...context, store: withCallOptions(context.store, () => ({ budget })) });
  }
  // A store that answers in the same turn would finish before the timer fires.
  if (waited > 0 && waited >= timeout) throw tooLong(timeout, callTimedOut());
  const left = timeout - waited;
  const control = new AbortController();
  const end = (): void => control.abort(new DOMException('The time of the operation is over', 'TimeoutError'));
  const timer = setTimeout(end, Math.ceil(left));
  // PERF: created once, because every call uses the same signal.
  const signal = eitherSignal(control.signal, context.signal);
  const options = { deadline: performance.now() + left, signal, budget };
  let ended = false;
  const bounded = withCallOptions(context.store, () => (ended ? undefined : options));
  const store: ResourceStore = {
    ...bounded,
    async commit(...call) {
      const results = await bounded.commit(...call);
      ended = untilWritten;
      if (ended) clearTimeout(timer);
      return results;
    },
  };
  try {
    return await work({ ...context, store, signal });
  } catch (error) {
    throw isTimedOut(error, control.signal) ? tooLong(timeout, error) : error;
  } finally {
    clearTimeout(timer);
  }
}

function isTimedOut(error: unknown, signal: AbortSignal): error is FhirError {
  if (!(error instanceof FhirError) || error.code !== 'aborted') return false;
  return error.detailsOf('aborted')?.deadline === true || (signal.aborted && error.cause === signal.reason);
}

/** Keeps the error's details about writes. */
function tooLong(max: number, error: FhirError): FhirError {
  const reason = `The call ran longer than ${max} ms: narrow its searches, or write less at once`;
  const worded = (text: string): string => WORDS.reduce((said, words) => said.replace(words, reason), text);
  const { deadline: _, ...kept } = error.details ?? {};
  return new FhirError('too-costly', worded(error.message), {
    issues: error.issues.map((issue) => ({
      ...issue,
      code: ERROR_CODES['too-costly'].issue,
      diagnostics: worded(issue.diagnostics ?? ''),
    })),
    details: { ...kept, limit: 'timeout', max },
    cause: error,
  });
}

const WORDS = [callTimedOut().message, callAborted(undefined).message];
