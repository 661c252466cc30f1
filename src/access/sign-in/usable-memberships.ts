import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { isInactive } from './active-project.js';
import type { FoundMembership } from './memberships-of.js';

/** Those of the memberships that are active, in active projects. */
export async function usableMemberships<Found extends FoundMembership>(
  store: ResourceStore,
  found: readonly Found[],
): Promise<readonly Found[]> {
  const active = found.filter(({ membership }) => !isInactive(membership));
  const projects = await store.read(active.map(({ project: id }) => ({ project: SERVER_SCOPE, type: 'Project', id })));
  return active.filter((_, index) => {
    const project = projects[index]!;
    return project.status === 'found' && !isInactive(project.resource);
  });
}
