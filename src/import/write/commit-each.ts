import type { GuardedWrite } from '../../access/contract.js';
import { FhirError, maskError } from '../../fhir/error.js';
import { inDoubt } from '../../fhir/in-doubt.js';
import { assertNotAborted } from '../../store/guards.js';
import type { WriteResult } from '../../store/write.js';
import { concernsAll } from '../entries/entry-faults.js';
import type { ImportSession } from '../session.js';

/** Writes that belong together: a check and the write that it guards, or a single write. */
export type WriteGroup = readonly GuardedWrite[];

/**
 * Commits independent groups, in order, with as few commits as possible: all at once, and on failure in halves, so that
 * only faulty groups are left out.
 *
 * @param stopAtFirst ends at the first faulty group; the groups after it are not committed, and not in the result
 * @returns per group its results, or why it was left out
 * @throws FhirError `aborted`, `unavailable`, `corrupt` - with `details.unknown` if an earlier group was committed
 */
export async function commitEach(
  groups: readonly WriteGroup[],
  session: ImportSession,
  stopAtFirst = false,
): Promise<readonly (readonly WriteResult[] | FhirError)[]> {
  if (groups.length === 0) return [];
  assertNotAborted(session.options);
  try {
    const results = await session.store.commit(groups.flat(), session.options);
    let start = 0;
    return groups.map((group) => results.slice(start, (start += group.length)));
  } catch (error) {
    if (concernsAll(error)) throw error;
    if (groups.length === 1) return [maskError(error)];
  }
  const half = groups.length >> 1;
  const first = await commitEach(groups.slice(0, half), session, stopAtFirst);
  if (stopAtFirst && first.at(-1) instanceof FhirError) return first;
  try {
    return [...first, ...(await commitEach(groups.slice(half), session, stopAtFirst))];
  } catch (error) {
    throw first.every((result) => result instanceof FhirError) ? error : partlyWritten(error);
  }
}

/** Marks the error of an import that had already written something. */
export function partlyWritten(error: unknown): FhirError {
  return inDoubt(maskError(error), 'a part of it may have been written');
}
