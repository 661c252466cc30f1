import type { GuardedStore, GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import type { CallOptions, WriteResult } from '../../store/store.js';

/** Writes that were decided on what the store held a moment ago. */
export interface PlannedWrites {
  readonly writes: readonly GuardedWrite[];
}

/** How often writes are planned anew when others came in between. Each time, one of those others got its way. */
const ATTEMPTS = 50;

/**
 * Plans and commits, and plans again when what was planned on has changed meanwhile. A plan whose own checks fail ends it.
 *
 * @param plan is told the resource in whose favour the last attempt failed, `Type/id`, where the store names one
 * @throws FhirError `unavailable` - there was always somebody faster
 */
export async function commitPlanned<Plan extends PlannedWrites>(
  guard: GuardedStore,
  plan: (holder: string | undefined) => Promise<Plan>,
  options: CallOptions,
): Promise<{ readonly plan: Plan; readonly results: readonly WriteResult[] }> {
  let holder: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const planned = await plan(holder);
    try {
      const results = planned.writes.length === 0 ? [] : await guard.commit(planned.writes, options);
      return { plan: planned, results };
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      if (attempt === ATTEMPTS) {
        throw new FhirError('unavailable', 'Other changes to the members of this project keep coming in; try again', {
          cause: error,
        });
      }
      holder = typeof error.details?.['holder'] === 'string' ? error.details['holder'] : undefined;
    }
  }
}

function isOvertaken(error: unknown): error is FhirError {
  return error instanceof FhirError && (error.code === 'conflict' || error.code === 'precondition-failed');
}
