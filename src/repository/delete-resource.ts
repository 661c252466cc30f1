import type { GuardedKey } from '../access/guarded-store.js';
import { expectationOf } from './if-match.js';
import { assertReadable, notFound } from './read-resource.js';
import type { MatchOptions } from './repository.js';
import type { RepositorySession } from './repository-context.js';

/** See https://hl7.org/fhir/R4/http.html#delete. */
export async function deleteResource(
  key: GuardedKey,
  options: MatchOptions,
  session: RepositorySession,
): Promise<void> {
  assertReadable(key);
  const write = { kind: 'delete', key, expect: expectationOf(options) } as const;
  const [result] = await session.store.commit([write], session.options);
  if (result?.kind === 'delete' && result.versionId !== null) return;
  const [found] = await session.store.read([key], session.options);
  if (found?.status !== 'gone') throw notFound(key);
}
