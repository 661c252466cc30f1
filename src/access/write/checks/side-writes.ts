import type { AnyResource } from '../../../fhir/resource.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { Caller } from '../../caller.js';
import { directoryEntry, directoryRemoval } from './membership-directory.js';
import { notInUseAsProfile } from './profiles-in-use.js';
import type { AddedWrite } from '../ready-write.js';

/** The writes that precede the write of a resource in its commit, for every caller. */
export function sideWritesOfPut(key: ResourceKey, from: number, resource: AnyResource): readonly AddedWrite[] {
  return key.type === 'ProjectMembership' ? directoryEntry(key, from, resource) : [];
}

/**
 * The writes that precede a deletion in its commit, for every caller.
 *
 * @param before the resource; null if it does not exist
 */
export function sideWritesOfDelete(
  key: ResourceKey,
  caller: Caller,
  from: number,
  before: AnyResource | null,
): readonly AddedWrite[] {
  return key.type === 'ProjectMembership' ? directoryRemoval(key, from, before) : notInUseAsProfile(key, caller, from);
}
