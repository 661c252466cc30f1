import type { AccessTrace } from '../access/access-trace.js';
import type { GuardedKey, GuardedStore } from '../access/contract.js';
import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { gone, notFound } from '../fhir/reference.js';
import { isResourceId } from '../fhir/resource.js';
import { requireResourceType } from '../search/parse/parse-context.js';
import type { CallOptions } from '../store/call-options.js';
import type { ReadResult } from '../store/stored-resource.js';

/** A caller's session: the store as the caller sees it, and the options of every call. */
export interface GuardedSession {
  readonly store: GuardedStore;
  readonly options: CallOptions;
  /** Records what is shown, if the interaction is audited. */
  readonly trace?: AccessTrace | undefined;
}

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
