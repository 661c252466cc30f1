import { FhirError } from '../fhir/error.js';
import type { PurgeRequest, StoreRemoval } from './removal.js';
import type { ResourceKey } from './resource-key.js';
import type { ResourceStore } from './store.js';
import type { Deletion } from './stored-resource.js';
import type { EraseWrite } from './write.js';
import { assertWholeNumber } from '../fhir/whole-number.js';

/** A reason is a code of up to 64 lower-case letters, digits and hyphens: it must not repeat erased content. */
export function isErasureReason(reason: unknown): reason is string {
  return typeof reason === 'string' && /^[a-z][a-z0-9-]{0,63}$/.test(reason);
}

/** Checks the reason of an erasure. @throws FhirError `invalid` - the reason is not a code. The message does not repeat it. */
export function assertErasureReason({ reason }: Pick<EraseWrite, 'reason'>, index: number): void {
  if (isErasureReason(reason)) return;
  const message = `Write ${index}: the reason of an erasure is a code of up to 64 lower-case letters, digits and hyphens`;
  throw new FhirError('invalid', message, { details: { index } });
}

/** The rejection of a put under the id of an erased resource. */
export function erasedForGood(index: number, { type, id }: Pick<ResourceKey, 'type' | 'id'>): FhirError {
  const message = `${type}/${id} was erased; its id cannot be used again`;
  return new FhirError('gone', message, { details: { index } });
}

/** The part of a {@link Deletion} that says whether it is an erasure. @param reason null or undefined for an ordinary deletion */
export function erasureOf(reason: string | null | undefined): Pick<Deletion, 'erased'> {
  return typeof reason === 'string' ? { erased: { reason } } : {};
}

/** A validated {@link PurgeRequest}. */
export interface PurgeBounds {
  /** Milliseconds since 1970. */
  readonly replacedBefore: number;
  readonly keep: number;
}

/** Validates a request to purge. @throws FhirError `invalid` - no instant, or no whole number from 1 up */
export function purgeBoundsOf({ replacedBefore, keep }: PurgeRequest): PurgeBounds {
  assertWholeNumber('keep', keep, 1);
  const instant = Date.parse(replacedBefore);
  if (Number.isNaN(instant)) throw new FhirError('invalid', 'Purging needs an instant in ISO 8601');
  return { replacedBefore: instant, keep };
}

/** @throws FhirError `unsupported` - the store cannot remove for good */
export function requireRemoval(store: ResourceStore): StoreRemoval {
  if (store.removal !== undefined) return store.removal;
  throw new FhirError(
    'unsupported',
    'This store cannot remove anything for good: it lacks the optional part "removal" of the store contract',
  );
}
