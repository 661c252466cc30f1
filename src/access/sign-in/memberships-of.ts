import { nameToId } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { ALL, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { requireExternalId, requireId, type ResourceRef } from './resource-ref.js';

/** A membership with the id of its project. */
export interface FoundMembership {
  readonly project: string;
  readonly membership: AnyResource;
}

/** A person's identity in the host's verified token. */
export type PersonIdentity = { readonly user: ResourceRef } | { readonly externalId: string };

/**
 * The memberships of a person in all projects, inactive ones included, by the directory above the projects.
 *
 * Entries that older versions wrote do not name the person. While such entries exist, each project is searched.
 *
 * @param opened the store as the host opened it. A complete directory of it is remembered until access may have changed
 * @throws FhirError `unauthenticated`, `invalid` - the identity is empty
 */
export async function membershipsOf(
  store: ResourceStore,
  identity: PersonIdentity,
  opened: ResourceStore,
): Promise<readonly FoundMembership[]> {
  const criteria = personCriteria(identity);
  if (!(await isComplete(store, opened))) return searchEachProject(store, criteria);
  const { matches } = await store.search({ project: SERVER_SCOPE, type: 'ProjectMembership', criteria });
  const keys = matches.flatMap(({ resource }) => {
    const project = nameToId(elementsOf(resource)['project'], 'Project');
    return project === undefined ? [] : [{ project, type: 'ProjectMembership', id: resource.id! }];
  });
  const found = await store.read(keys);
  return found.flatMap((one, index) =>
    one.status === 'found' ? [{ project: keys[index]!.project, membership: one.resource }] : [],
  );
}

/** Finds a person's memberships, in a project or in the directory. @throws FhirError `unauthenticated`, `invalid` */
export function personCriteria(identity: PersonIdentity): Criteria {
  if ('user' in identity) return refersTo('user', { type: 'User', id: requireId(identity.user, 'User') });
  const text = requireExternalId(identity.externalId);
  return { kind: 'match', parameter: 'external-id', test: { kind: 'string', comparator: 'exact', text } };
}

async function searchEachProject(store: ResourceStore, criteria: Criteria): Promise<readonly FoundMembership[]> {
  const { matches: projects } = await store.search({ project: SERVER_SCOPE, type: 'Project', criteria: ALL });
  const found: FoundMembership[] = [];
  for (const { resource } of projects) {
    const project = resource.id!;
    const { matches } = await store.search({ project, type: 'ProjectMembership', criteria });
    found.push(...matches.map(({ resource: membership }) => ({ project, membership })));
  }
  return found;
}

/**
 * Whether every entry of the directory names its person.
 *
 * PERF: looking for an entry without a person visits all of them, so the answer is kept. New entries are complete, but a
 * database that is put back to an earlier copy may have old entries again, and then it has another epoch.
 */
async function isComplete(store: ResourceStore, opened: ResourceStore): Promise<boolean> {
  const epoch = opened.readsAreCurrent === true ? await store.accessEpoch?.() : undefined;
  if (epoch !== undefined && COMPLETE.get(opened) === epoch) return true;
  const nobody: Criteria = { kind: 'missing', parameter: 'user', missing: true };
  const query = { project: SERVER_SCOPE, type: 'ProjectMembership', criteria: nobody, limit: 1 };
  if ((await store.search(query)).matches.length > 0) return false;
  if (epoch !== undefined && (await store.accessEpoch?.()) === epoch) COMPLETE.set(opened, epoch);
  return true;
}

/** The epoch in which the directory of a store was complete. */
const COMPLETE = new WeakMap<ResourceStore, string>();
