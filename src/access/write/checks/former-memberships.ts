import { referenceText, referenceTo } from '../../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../../fhir/resource.js';
import { and, refersTo } from '../../../search/criteria/criteria.js';
import type { CallOptions } from '../../../store/call-options.js';
import type { ResourceStore } from '../../../store/store.js';
import type { PutWrite } from '../../../store/write.js';
import { sha256Of } from '../../../platform/sha256.js';

/**
 * The scope of the records of removed memberships. An id never contains a slash, so no caller has this project: only
 * this file writes the records and reads them, and the deletion of a project removes them, and no search, chain or `_has` of a caller reaches them.
 */
export const FORMER_MEMBERSHIPS = '/former-memberships';

/**
 * Records that a membership was removed, for the same commit: a deleted membership cannot be searched.
 *
 * ```
 * { resourceType: 'ProjectMembership', active: false, project: 'Project/1', user: 'User/1', profile: 'Patient/1' }
 * ```
 *
 * @returns undefined for a client or Bot, which is its own profile
 */
export function formerMembershipWrite(project: string, membership: AnyResource): PutWrite | undefined {
  const elements = elementsOf(membership);
  const user = referenceText(elements['user']);
  const profile = referenceText(elements['profile']);
  if (user?.startsWith('User/') !== true || profile === undefined) return undefined;
  // One record per link: repeated removals of the same person leave one.
  const id = sha256Of(JSON.stringify([project, user, profile]));
  return {
    kind: 'put',
    key: { project: FORMER_MEMBERSHIPS, type: 'ProjectMembership', id },
    resource: {
      resourceType: 'ProjectMembership',
      id,
      active: false,
      project: { reference: referenceTo('Project', project) },
      user: { reference: user },
      profile: { reference: profile },
    } as AnyResource,
  };
}

/**
 * The profiles, as `Type/id`, that removed memberships of a User in a project had. They may not exist any more.
 *
 * Memberships that older versions removed have no records.
 */
export async function formerProfiles(
  store: ResourceStore,
  project: string,
  user: string,
  options: CallOptions | undefined,
): Promise<readonly string[]> {
  const criteria = and([
    refersTo('user', { type: 'User', id: user }),
    refersTo('project', { type: 'Project', id: project }),
  ]);
  const { matches } = await store.search({ project: FORMER_MEMBERSHIPS, type: 'ProjectMembership', criteria }, options);
  return matches.flatMap(({ resource }) => referenceText(elementsOf(resource)['profile']) ?? []);
}
