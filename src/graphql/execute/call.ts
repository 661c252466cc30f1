import { FhirError } from '../../fhir/error.js';
import { tooManyBytes } from './spending.js';
import type { Run } from './run.js';

/**
 * Makes a store call under the limits.
 *
 * @param lookups the parents of a reverse list
 * @throws as the store, and `Deadline.wait`
 */
export async function call<Result>(run: Run, work: () => Promise<Result>, lookups = 0): Promise<Result> {
  run.spendCall(lookups);
  try {
    return await run.deadline.wait(work());
  } catch (error) {
    throw faultOf(error, run);
  }
}

function faultOf(error: unknown, run: Run): unknown {
  const isTooMany = error instanceof FhirError && error.detailsOf('too-costly')?.limit === 'maxResources';
  if (isTooMany) return run.tooManyResources();
  const isTooLong = error instanceof FhirError && error.detailsOf('too-costly')?.limit === 'bytes';
  return isTooLong ? tooManyBytes(run.options.limits) : run.deadline.faultOf(error);
}
