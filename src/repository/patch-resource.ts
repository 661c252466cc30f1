import type { GuardedKey } from '../access/guarded-store.js';
import { FhirError } from '../fhir/error.js';
import type { AnyResource } from '../fhir/resource.js';
import { expectationOf } from './if-match.js';
import { putResource } from './put-resource.js';
import { readStored } from './read-resource.js';
import type { MatchOptions } from './repository.js';
import type { RepositorySession } from './repository-context.js';

/** How often a patch without `ifMatch` is applied anew when another write came between reading and storing. */
const ATTEMPTS = 5;

/**
 * Applies a patch to what the caller sees; what it does not see stays as it is.
 * See https://hl7.org/fhir/R4/http.html#patch.
 */
export async function patchResource(
  key: GuardedKey,
  operations: unknown,
  options: MatchOptions,
  session: RepositorySession,
): Promise<AnyResource> {
  const stated = expectationOf(options);
  // PERF: loading it takes 5 ms, which a process that never patches need not spend.
  const { applyJsonPatch } = await import('./json-patch.js');
  for (let attempt = 1; ; attempt += 1) {
    const { resource, versionId } = await readStored(key, session);
    const patched = applyJsonPatch(resource, operations);
    try {
      return await putResource(key, patched, stated ?? { version: versionId }, session);
    } catch (error) {
      const overtaken = error instanceof FhirError && error.code === 'precondition-failed';
      if (!overtaken || stated !== undefined || attempt === ATTEMPTS) throw error;
    }
  }
}
