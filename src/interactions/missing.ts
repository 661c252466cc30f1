import type { FhirModel } from '../fhir/model/fhir-model.js';
import { FhirError } from '../fhir/error.js';
import { gone, notFound } from '../fhir/not-found.js';
import { isResourceId } from '../fhir/resource.js';
import { requireResourceType } from '../search/parse/require-parameter.js';
import type { ReadResult } from '../store/store.js';
import type { GuardedKey } from '../access/contract.js';

/**
 * An id that no resource can have is one that none has.
 *
 * @throws FhirError `invalid` - no resource type
 * @throws FhirError `not-found` - no id
 */
export function assertReadable(model: FhirModel, { type, id, version }: GuardedKey): void {
  requireResourceType(model, type);
  if (!isResourceId(id)) throw new FhirError('not-found', `No ${type} has an id like the one given`);
  if (version !== undefined && !isResourceId(version)) throw notFound({ type, id });
}

/** What a read found. @throws FhirError `not-found`, `gone` */
export function requireFound(result: ReadResult | undefined, key: GuardedKey): ReadResult & { status: 'found' } {
  if (result?.status === 'found') return result;
  throw absence(result, key);
}

/** Why a read gave no resource. */
export function absence(result: ReadResult | undefined, key: GuardedKey): FhirError {
  return result?.status === 'gone' ? gone(key) : notFound(key);
}
