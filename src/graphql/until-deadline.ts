import type { FhirGraphqlContext } from './context.js';
import { Deadline } from './execute/deadline.js';
import { withDefaults } from './limits.js';

/**
 * Waits for work that the plan needs before it runs, such as finding a document by its id.
 *
 * @param began the start of the request
 * @throws LimitError `timeout`
 * @throws FhirError `aborted`
 */
export async function untilDeadline<Result>(
  work: Promise<Result>,
  { limits, signal }: FhirGraphqlContext,
  began: number,
): Promise<Result> {
  const deadline = new Deadline(withDefaults(limits).timeout, signal, undefined, performance.now() - began);
  try {
    return await deadline.wait(work);
  } finally {
    deadline.close();
  }
}
