import { FhirError } from './error.js';
import { referenceTo } from './reference.js';

/** A resource, or one version of it. */
export interface NamedResource {
  readonly type: string;
  readonly id: string;
  readonly version?: string | undefined;
}

/**
 * Creates the error for a resource that does not exist or that the caller may not see; the two are indistinguishable.
 */
export function notFound(key: NamedResource, hint = ''): FhirError {
  return new FhirError('not-found', `${nameOf(key)} was not found${hint}`);
}

/** Creates the error for a deleted resource that the caller may know of. */
export function gone(key: NamedResource): FhirError {
  return new FhirError('gone', `${nameOf(key)} was deleted`);
}

function nameOf({ type, id, version }: NamedResource): string {
  return version === undefined ? referenceTo(type, id) : `${referenceTo(type, id)}, version ${version},`;
}
