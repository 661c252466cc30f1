import { assertReadable, requireFound } from '../interactions/missing.js';
import type { GuardedKey } from '../access/contract.js';
import type { AnyResource } from '../fhir/resource.js';
import type { RepositorySession } from './repository-context.js';

/** @throws FhirError `not-found`, `gone` */
export async function readResource(key: GuardedKey, session: RepositorySession): Promise<AnyResource> {
  assertReadable(session.store.model, key);
  const [found] = await session.store.read([key], session.options);
  return requireFound(found, key).resource;
}
