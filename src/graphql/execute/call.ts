import { FhirError } from '../../fhir/error.js';
import type { Run } from './run.js';

/**
 * Makes a store call under the limits.
 *
 * @param lookups the parents of a reverse list
 */
export async function call<Result>(run: Run, work: () => Promise<Result>, lookups = 0): Promise<Result> {
  run.spendCall(lookups);
  try {
    const result = await work();
    run.deadline.check();
    return result;
  } catch (error) {
    if (error instanceof FhirError && error.detailsOf('too-costly')?.limit === 'maxResources')
      throw run.tooManyResources();
    throw run.deadline.faultOf(error);
  }
}
