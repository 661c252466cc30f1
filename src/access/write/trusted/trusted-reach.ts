import { FhirError } from '../../../fhir/error.js';
import type { ServerCaller, SystemCaller } from '../../caller.js';
import { type GuardedWrite, withIndex } from '../../contract.js';
import { decide } from '../../decide.js';
import { isAboveProjects } from '../../fields/administrative-types.js';

/**
 * Asserts the scope of trusted code, to which no policy applies: one project, or the resources above projects.
 *
 * @throws FhirError `forbidden` - the resource is in no project of the caller's, or above projects and out of its
 * reach
 */
export function assertWithinReach(caller: SystemCaller | ServerCaller, write: GuardedWrite, from: number): void {
  if (write.kind === 'assert-no-match') return;
  const { type, id } = write.key;
  if (caller.kind === 'server') {
    if (decide(caller, type, 'update') !== null) return;
    const message = `Trusted code above projects reaches Users and Projects only, not ${type}; it must name a project`;
    throw withIndex(new FhirError('forbidden', message), from);
  }
  if (!isAboveProjects(type) || (type === 'Project' && id === caller.project && write.kind === 'put')) return;
  const what = type === 'User' ? 'Users are' : id === caller.project ? 'Deleting a Project is' : 'Other Projects are';
  throw withIndex(outOfReach(what), from);
}

/** @param what the subject and its verb: `Users are` */
export function outOfReach(what: string): FhirError {
  const message = `${what} out of reach of trusted code of one project; that takes trusted code above projects`;
  return new FhirError('forbidden', message);
}
