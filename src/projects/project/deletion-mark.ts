import type { Project } from '@medplum/fhirtypes';

/** Marks a Project whose deletion has begun: it can only be finished. */
const URL = 'https://fhirgraph.org/fhir/StructureDefinition/project-deletion';

export function isBeingDeleted(project: Project): boolean {
  return project.extension?.some(({ url }) => url === URL) === true;
}

/** The Project without access for anybody, and marked. */
export function markedForDeletion(project: Project): Project {
  return { ...project, active: false, extension: [...(project.extension ?? []), { url: URL, valueBoolean: true }] };
}
