import type { GuardedStore, GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { splitReference } from '../../fhir/reference.js';
import { and, type Criteria, not } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { ATTEMPTS, isConflict, Overtaken, withRetries } from '../../store/with-retries.js';
import type { WriteResult } from '../../store/write.js';

/** Writes planned on data read before. */
export interface PlannedWrites {
  readonly writes: readonly GuardedWrite[];
}

/**
 * Plans and commits; plans again if the underlying data has changed. An error of the planning itself ends it: see
 * {@link planSteadily}.
 *
 * @param plan receives the resource that the last attempt conflicted with, `Type/id`, if the store names one
 * @throws FhirError `unavailable` - every attempt lost to a concurrent write
 */
export async function commitPlanned<Plan extends PlannedWrites>(
  guard: GuardedStore,
  plan: (holder: string | undefined) => Promise<Plan>,
  options: CallOptions,
): Promise<{ readonly plan: Plan; readonly results: readonly WriteResult[] }> {
  let holder: string | undefined;
  return withRetries({ attempts: ATTEMPTS.members, signal: options.signal }, async () => {
    const planned = await planSteadily(() => plan(holder), options);
    try {
      const results = planned.writes.length === 0 ? [] : await guard.commit(planned.writes, options);
      return { plan: planned, results };
    } catch (error) {
      if (!isConflict(error)) throw error;
      holder = typeof error.details?.['holder'] === 'string' ? error.details['holder'] : undefined;
      return new Overtaken(
        new FhirError('unavailable', 'Other changes to the members of this project keep coming in; try again', {
          cause: error,
        }),
      );
    }
  });
}

/**
 * Plans, and plans again if that ends in a conflict: only a conflict that is found twice in a row is one.
 *
 * A plan reads several times, and a write in between can make parts of two states look like a conflict. A profile, for
 * example, seems to belong to nobody if it was created with its membership after the memberships were read.
 */
export async function planSteadily<Plan>(plan: () => Promise<Plan>, { signal }: CallOptions): Promise<Plan> {
  let last: string | undefined;
  return withRetries({ attempts: ATTEMPTS.members, signal }, async () => {
    try {
      return await plan();
    } catch (error) {
      if (!(error instanceof FhirError) || error.code !== 'conflict' || error.message === last) throw error;
      last = error.message;
      return new Overtaken(error);
    }
  });
}

/**
 * Creates a check that the target of a reference written earlier in the commit exists at commit time.
 *
 * A commit can only assert that a search has no match. So the check searches for the referencing resource with a
 * reference that does not resolve.
 *
 * @param from the resource that was written, `Type/id`
 * @param parameter the search parameter of the reference
 * @param to the target, `Type/id`
 */
export function referenceExists(from: string, parameter: string, to: string): GuardedWrite {
  const source = splitReference(from);
  const target = splitReference(to);
  const found: Criteria = { kind: 'chain', parameter, type: target.type, of: { kind: 'id', ids: [target.id] } };
  return {
    kind: 'assert-no-match',
    query: { type: source.type, criteria: and([{ kind: 'id', ids: [source.id] }, not(found)]) },
  };
}
