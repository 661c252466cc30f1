import { FhirError } from '../../fhir/error.js';
import type { ReadResult } from '../../store/store.js';
import type { Run } from './run.js';

/** Makes a store call under the limits. */
export async function call<Result>(run: Run, work: () => Promise<Result>): Promise<Result> {
  run.spendCall();
  const result = await work();
  run.deadline.check();
  return result;
}

/** Why a read gave no resource. */
export function absence(result: ReadResult, name: string): FhirError {
  return result.status === 'gone'
    ? new FhirError('gone', `${name} was deleted`)
    : new FhirError('not-found', `${name} was not found`);
}
