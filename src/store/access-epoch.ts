import type { Change } from './write.js';

/** Types with writes that can end or change access. */
const DECIDING: ReadonlySet<string> = new Set([
  'AccessPolicy',
  'Bot',
  'ClientApplication',
  'Project',
  'ProjectMembership',
  // It decides whose compartment its member sees.
  'RelatedPerson',
  'User',
]);

/** Other types of profiles: a member loses access when its profile is deleted or erased. */
const PROFILES: ReadonlySet<string> = new Set(['Patient', 'Practitioner']);

/**
 * True for a write after which `ResourceStore.accessEpoch` must return another value.
 *
 * Ordinary writes of clinical data do not change it, so they cause no checks of callers.
 */
export function decidesAccess({ kind, key: { type } }: Pick<Change, 'kind' | 'key'>): boolean {
  return DECIDING.has(type) || (kind !== 'put' && PROFILES.has(type));
}
