import { FhirError } from './error.js';
import { referenceTo } from './reference.js';

/** A resource, or one version of it. */
export interface NamedResource {
  readonly type: string;
  readonly id: string;
  readonly version?: string | undefined;
}

/** No such resource, or none that the caller may see: nobody can tell the two apart. */
export function notFound(key: NamedResource, hint = ''): FhirError {
  return new FhirError('not-found', `${nameOf(key)} was not found${hint}`);
}

/** The resource was deleted, and the caller may know it. */
export function gone(key: NamedResource): FhirError {
  return new FhirError('gone', `${nameOf(key)} was deleted`);
}

function nameOf({ type, id, version }: NamedResource): string {
  return version === undefined ? referenceTo(type, id) : `${referenceTo(type, id)}, version ${version},`;
}
