import type { FhirModel } from '../fhir/model/fhir-model.js';
import { FhirError } from '../fhir/error.js';
import { gone, notFound } from '../fhir/not-found.js';
import { isResourceId } from '../fhir/resource.js';
import { requireResourceType } from '../search/parse/require-parameter.js';
import type { ReadResult } from '../store/stored-resource.js';
import type { GuardedKey } from '../access/contract.js';

/**
 * Asserts a known type and a well-formed id; a malformed id is reported like an unknown one.
 *
 * @throws FhirError `invalid` - not a resource type
 * @throws FhirError `not-found` - not an id
 */
export function assertReadable(model: FhirModel, { type, id, version }: GuardedKey): void {
  requireResourceType(model, type);
  if (!isResourceId(id)) throw new FhirError('not-found', `No ${type} has the given id`);
  if (version !== undefined && !isResourceId(version)) throw notFound({ type, id });
}

/** Returns the resource of a read. @throws FhirError `not-found`, `gone` */
export function requireFound(result: ReadResult | undefined, key: GuardedKey): ReadResult & { status: 'found' } {
  if (result?.status === 'found') return result;
  throw absence(result, key);
}

/** The error for a read without a resource. */
export function absence(result: ReadResult | undefined, key: GuardedKey): FhirError {
  return result?.status === 'gone' ? gone(key) : notFound(key);
}
