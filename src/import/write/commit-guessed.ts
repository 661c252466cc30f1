import type { WriteResult } from '../../store/write.js';
import { concernsAll } from '../entries/entry-faults.js';
import type { ImportSession } from '../session.js';
import type { WriteGroup } from './commit-each.js';
import type { PlannedPut } from './plan-puts.js';

/**
 * Commits puts of which some are guessed, all at once.
 *
 * @returns undefined if nothing was written: a guess was wrong, or a resource cannot be stored
 * @throws FhirError `aborted`, `unavailable`, `corrupt`
 */
export async function commitGuessed(
  plans: readonly PlannedPut[],
  session: ImportSession,
): Promise<readonly (readonly WriteResult[])[] | undefined> {
  const writes = groupsOf(plans).flat();
  try {
    return (await session.store.commit(writes, session.options)).map((result) => [result]);
  } catch (error) {
    if (concernsAll(error)) throw error;
    session.guess?.learnFailure(error, writes);
    return undefined;
  }
}

/** The writes of puts, each on its own. */
export function groupsOf(plans: readonly PlannedPut[]): readonly WriteGroup[] {
  return plans.flatMap((plan) => (plan.kind === 'write' ? [[plan.write]] : []));
}
