import type { Outcome } from './execute/execute-plan.js';
import { LimitError, type Limits } from './limits.js';

/** The estimated and actual cost of a request. The unit is one resource fetched, with few fields. */
export interface RequestCost {
  /** Computed from the plan and the variables before the first store call; bounded by `limits.cost`. */
  readonly estimated: number;
  /** The same sum over the actual calls. */
  readonly actual: number;
  readonly storeCalls: number;
  /** Resources read, counted as often as they appear in the answer. */
  readonly rows: number;
  readonly fhirpathSteps: number;
}

/** @throws LimitError `cost` */
export function assertAffordable(estimated: number, { cost }: Limits): void {
  if (estimated <= cost) return;
  throw new LimitError(
    'cost',
    cost,
    `The query is estimated to cost ${rounded(estimated)}, about so many resources, and may cost ${cost}; page its lists with _count, nest fewer of them, or split it`,
    rounded(estimated),
  );
}

/** Rounded to whole numbers, the precision of the estimate. */
export function requestCost(estimated: number, outcome: Outcome): RequestCost {
  const { cost, storeCalls, rows, fhirpathSteps } = outcome;
  return {
    estimated: rounded(estimated),
    actual: rounded(cost),
    storeCalls,
    rows,
    fhirpathSteps: rounded(fhirpathSteps),
  };
}

function rounded(number: number): number {
  return Math.min(Math.ceil(number), Number.MAX_SAFE_INTEGER);
}
