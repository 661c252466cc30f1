import { FhirError } from '../../fhir/error.js';
import type { StoreContext } from '../../store/store-context.js';
import type { ConcurrencyOptions } from './concurrency.js';

/** What one call of the library may take. */
export interface CallLimits {
  /**
   * Maximum run time in milliseconds, until something is written. Exceeding it is `too-costly`, with `details.unknown` if
   * a commit was under way whose outcome is unknown. Default: none; `limits.timeout` of GraphQL has its own.
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
