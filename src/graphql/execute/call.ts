import { FhirError } from '../../fhir/error.js';
import { type NowOrLater, nowOrLater } from '../../platform/ready.js';
import { tooManyBytes } from './limit-errors.js';
import type { Run } from './run.js';

/**
 * Makes a store call under the limits.
 *
 * @param lookups the parents of a reverse list
 * @returns a promise, unless the store answers synchronously: see `ready`
 */
export function call<Result>(run: Run, work: () => Promise<Result>, lookups = 0): NowOrLater<Result> {
  run.spendCall(lookups);
  const inTime = (result: Result): Result => {
    run.deadline.check();
    return result;
  };
  try {
    const result = nowOrLater(work());
    if (!(result instanceof Promise)) return inTime(result);
    return result.then(inTime).catch((error: unknown) => {
      throw faultOf(error, run);
    });
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
