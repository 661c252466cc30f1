import type { Project } from '@medplum/fhirtypes';
import { OWN_EXTENSIONS } from '../../fhir/own-extensions.js';

const URL = OWN_EXTENSIONS.projectDeletion;

/** True for a Project whose deletion has begun: it can only be finished. */
export function isBeingDeleted(project: Project): boolean {
  return project.extension?.some(({ url }) => url === URL) === true;
}

/** The Project, deactivated and marked. */
export function markedForDeletion(project: Project): Project {
  return { ...project, active: false, extension: [...(project.extension ?? []), { url: URL, valueBoolean: true }] };
}
