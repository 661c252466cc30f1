import { failedIndex } from '../../access/contract.js';
import { PROFILE_TYPES } from '../../access/write/checks.js';
import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import { refersTo } from '../../search/criteria/criteria.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { Write, WriteResult } from '../../store/write.js';
import type { ErasureReason, ErasureSession } from './erasure-session.js';

type Erased = Extract<WriteResult, { readonly kind: 'erase' }>;

/**
 * Erases resources in one commit, together with the check that none is the profile of a member, who could not sign in
 * without it.
 *
 * @returns one result per key, same order
 * @throws FhirError `conflict` - a resource is the profile of a member
 */
export async function eraseKeys(
  { writes, options }: ErasureSession,
  keys: readonly ResourceKey[],
  reason: ErasureReason,
): Promise<readonly Erased[]> {
  const checked = keys.filter(({ type }) => PROFILE_TYPES.has(type));
  const checks = checked.map(({ project, type, id }): Write => {
    const criteria = refersTo('profile', { type, id });
    return { kind: 'assert-no-match', query: { project, type: 'ProjectMembership', criteria } };
  });
  const erasures = keys.map((key): Write => ({ kind: 'erase', key, reason }));
  try {
    const results = await writes.commit([...checks, ...erasures], options);
    options.onWritten?.();
    return results.slice(checks.length) as readonly Erased[];
  } catch (error) {
    const key = checked[failedIndex(error) ?? -1];
    if (key === undefined || !(error instanceof FhirError)) throw error;
    throw inUse(key, String(error.details?.['holder']));
  }
}

/** @throws FhirError `conflict` - one of them is the profile of a member */
export async function assertNoProfiles(
  { store, options }: ErasureSession,
  keys: readonly ResourceKey[],
): Promise<void> {
  for (const { project, type, id } of keys) {
    if (!PROFILE_TYPES.has(type)) continue;
    const criteria = refersTo('profile', { type, id });
    const { matches } = await store.search({ project, type: 'ProjectMembership', criteria, limit: 1 }, options);
    const [member] = matches;
    if (member !== undefined) throw inUse({ type, id }, referenceTo('ProjectMembership', member.resource.id!));
  }
}

function inUse({ type, id }: Pick<ResourceKey, 'type' | 'id'>, membership: string): FhirError {
  return new FhirError(
    'conflict',
    `${referenceTo(type, id)} is the profile of ${membership} and cannot be erased; remove the member first`,
    { details: { membership } },
  );
}
