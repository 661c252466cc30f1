import { FhirError } from '../fhir/error.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import type { CallOptions } from './call-options.js';
import type { ResourceKey } from './resource-key.js';
import type { Deletion } from './stored-resource.js';
import type { EraseWrite } from './write.js';

/**
 * Removal for good: removed data cannot be restored. Each step is one transaction of bounded size, so that other calls
 * do not wait long. Callers repeat steps until nothing is left, and call again after a crash to resume.
 */
export interface StoreRemoval {
  /** Removes versions that are not current. Current versions, deletions included, always stay. */
  purgeHistory(request: PurgeRequest, options?: CallOptions): Promise<PurgeStep>;

  /**
   * Removes resources of a project with all their versions, index values and unique keys, without tombstones, and at
   * the end everything else that the store keeps for the project. The project is then as if it had never been written
   * to.
   */
  removeProject(project: string, options?: CallOptions): Promise<RemovalStep>;

  /**
   * Overwrites the remains of removed data in the store's files: free pages, logs, unused names. Takes as long as
   * copying the store, and may delay writes until it is done.
   *
   * @throws FhirError `unavailable` - another connection reads an old state; try again
   */
  scrub(options?: CallOptions): Promise<void>;
}

/** The versions to remove from the history of a project. */
export interface PurgeRequest {
  readonly project: string;
  /** Only versions that were replaced before this instant. ISO 8601, UTC. */
  readonly replacedBefore: string;
  /** How many of the newest versions of each resource stay, the current one included. From 1 up. */
  readonly keep: number;
  /** Only versions of resources of this type. Default: of all types. */
  readonly type?: string | undefined;
  /** `next` of the previous step. Default: from the beginning. */
  readonly after?: string | undefined;
}

/** The result of one step of `purgeHistory`. */
export interface PurgeStep {
  /** The number of versions removed. */
  readonly versions: number;
  /** Where the next step begins; undefined when the purge is complete. */
  readonly next?: string | undefined;
}

/** The result of one step of `removeProject`. */
export interface RemovalStep {
  /** The number of resources removed, including deleted and erased ones. */
  readonly resources: number;
  /** The number of versions removed. */
  readonly versions: number;
  /** Nothing is left. */
  readonly done: boolean;
}

/** A reason is a code of up to 64 lower-case letters, digits and hyphens: it must not repeat erased content. */
function isErasureReason(reason: unknown): reason is string {
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

/**
 * A version without content.
 *
 * @param updated milliseconds since 1970
 * @param reason why the resource was erased; null or undefined: it was not
 */
export function deletionOf(
  version: string | number,
  updated: string | number,
  reason: string | null | undefined,
): Deletion {
  const lastUpdated = new Date(Number(updated)).toISOString();
  return { versionId: String(version), lastUpdated, ...(typeof reason === 'string' && { erased: { reason } }) };
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
