import type { GuardedKey } from '../access/guarded-store.js';
import { FhirError } from '../fhir/error.js';
import { referenceTo } from '../fhir/reference.js';
import { isResourceId, type AnyResource } from '../fhir/resource.js';
import { requireResourceType } from '../search/require-parameter.js';
import type { StoredResource } from '../store/store.js';
import type { RepositorySession } from './repository-context.js';

/** @throws FhirError `not-found`, `gone` */
export async function readResource(key: GuardedKey, session: RepositorySession): Promise<AnyResource> {
  return (await readStored(key, session)).resource;
}

/** @throws FhirError `not-found`, `gone` */
export async function readStored(key: GuardedKey, session: RepositorySession): Promise<StoredResource> {
  assertReadable(key);
  const [found] = await session.store.read([key], session.options);
  if (found?.status === 'found') return found;
  if (found?.status === 'gone') throw new FhirError('gone', `${nameOf(key)} was deleted`);
  throw notFound(key);
}

/**
 * An id that no resource can have is one that none has.
 *
 * @throws FhirError `invalid` - no resource type
 * @throws FhirError `not-found` - no id
 */
export function assertReadable({ type, id, version }: GuardedKey): void {
  requireResourceType(type);
  if (!isResourceId(id)) throw new FhirError('not-found', `No ${type} has an id like the one given`);
  if (version !== undefined && !isResourceId(version)) throw notFound({ type, id });
}

export function notFound(key: GuardedKey): FhirError {
  return new FhirError('not-found', `${nameOf(key)} was not found`);
}

function nameOf({ type, id, version }: GuardedKey): string {
  return version === undefined ? referenceTo(type, id) : `${referenceTo(type, id)}, version ${version},`;
}
