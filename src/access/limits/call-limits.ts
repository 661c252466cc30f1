import { FhirError } from '../../fhir/error.js';
import type { StoreContext } from '../../store/store-context.js';
import type { ConcurrencyOptions } from './concurrency.js';

/** Limits of one call of the library. */
export interface CallLimits {
  /**
   * Maximum run time in milliseconds, until something is written. A call that exceeds it fails with `too-costly`, and
   * with `details.unknown` if the outcome of a running commit is unknown. Default: none; `limits.timeout` of GraphQL
   * and of FHIR's interactions over HTTP is 30,000 by default.
   */
  readonly timeout?: number | undefined;
  /** How many requests run at the same time, and how many wait. Default: no limit. */
  readonly concurrency?: ConcurrencyOptions | undefined;
}

/** The context of trusted host code under limits. */
export interface LimitedStoreContext extends StoreContext {
  readonly limits?: CallLimits | undefined;
}

/** @throws FhirError `invalid` - not a number above 0 */
export function assertTimeout(timeout: unknown): asserts timeout is number | undefined {
  if (timeout === undefined || (typeof timeout === 'number' && timeout > 0)) return;
  throw new FhirError('invalid', 'Limit "timeout" must be a number above 0');
}
