import { type CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { ResourceStore } from '../../store/store.js';

/**
 * A decision that may need to know whether the store holds a match for some queries. It yields each query and resumes
 * with the answer. It has no other inputs: equal answers give equal decisions. Long work is done in steps, between which it
 * yields {@link STEP}.
 */
export type Deciding<Result> = Generator<SearchQuery | typeof STEP, Result, boolean>;

/** Yielded in place of a query: a point where other work may run. */
export const STEP = Symbol('step');

/** Runs a decision, with a store that answers its queries one after the other. */
export async function answeredBy<Result>(
  store: ResourceStore,
  deciding: Deciding<Result>,
  options?: CallOptions,
): Promise<Result> {
  let step = deciding.next();
  let pace: CallPace | undefined;
  while (step.done !== true) {
    if (step.value === STEP) {
      pace ??= new CallPace(options);
      if (pace.isSpent) await pace.next();
      step = deciding.next(false);
      continue;
    }
    const { matches } = await store.search({ ...step.value, limit: 1 }, options);
    step = deciding.next(matches.length > 0);
  }
  return step.value;
}
