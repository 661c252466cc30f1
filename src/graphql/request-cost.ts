import type { Outcome } from './execute/execute-plan.js';
import { LimitError, type Limits, wholeCost } from './limits.js';

/** The cost of a request before and after. The unit is one resource fetched, with few fields. */
export interface RequestCost {
  /** The minimum cost of the store calls, whatever the data; computed before the first call. */
  readonly least: number;
  /** Computed from the plan and the variables, with assumed counts where neither gives one. */
  readonly estimated: number;
  /** The same sum over the actual calls; bounded by `limits.cost`. */
  readonly actual: number;
  readonly storeCalls: number;
  /** Resources read, once for each time they appear in the answer. */
  readonly rows: number;
  readonly fhirpathSteps: number;
}

/** The parts of the cost that are known before the first store call. */
export type ForeseenCost = Pick<RequestCost, 'least' | 'estimated'>;

/**
 * Refuses a mutation before it writes: refusing it later would leave the client with a written request that failed.
 *
 * @throws LimitError `cost`
 */
export function assertAffordableMutation(estimated: number, { cost }: Limits): void {
  if (estimated <= cost) return;
  throw new LimitError(
    'cost',
    cost,
    `The mutation is estimated to cost ${wholeCost(estimated)} (about as many resources); the limit is ${cost}: select less of what it writes, page with _count, or split it`,
    wholeCost(estimated),
  );
}

/** Rounded up to whole numbers, the precision of the estimate. */
export function requestCost({ least, estimated }: ForeseenCost, outcome: Outcome): RequestCost {
  const { cost, storeCalls, rows, fhirpathSteps } = outcome;
  return {
    least: wholeCost(least),
    estimated: wholeCost(estimated),
    actual: wholeCost(cost),
    storeCalls,
    rows,
    fhirpathSteps: wholeCost(fhirpathSteps),
  };
}
