import { FhirError } from '../../../fhir/error.js';
import { referenceTo } from '../../../fhir/reference.js';
import { refersTo } from '../../../search/criteria/criteria.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { Caller } from '../../caller.js';
import { readsAll } from '../../decide.js';
import type { AddedWrite } from '../ready-write.js';

/** Types that a membership may have as its profile. */
export const PROFILE_TYPES: ReadonlySet<string> = new Set([
  'Patient',
  'Practitioner',
  'RelatedPerson',
  'ClientApplication',
  'Bot',
]);

/** A profile that a membership references is not deleted: without it the member could not sign in. */
export function notInUseAsProfile(key: ResourceKey, caller: Caller, from: number): readonly AddedWrite[] {
  if (!PROFILE_TYPES.has(key.type)) return [];
  const query = { project: caller.project, type: 'ProjectMembership', criteria: refersTo('profile', key) };
  // Only callers who read memberships learn which one it is.
  const mayName = readsAll(caller, 'ProjectMembership');
  const refusal = (holder: string): FhirError =>
    new FhirError(
      'conflict',
      `${referenceTo(key.type, key.id)} is the profile of ${mayName ? holder : 'a member'} and cannot be deleted; remove the member first`,
      mayName ? { details: { membership: holder } } : {},
    );
  return [{ role: 'added', write: { kind: 'assert-no-match', query }, from, refusal }];
}
