import type { GuardedKey, GuardedWrite } from '../access/guarded-store.js';
import { isResourceType } from '../fhir/definitions.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject, type AnyResource } from '../fhir/resource.js';
import { quote } from '../search/quote.js';
import type { Expectation } from '../store/store.js';
import type { RepositorySession } from './repository-context.js';

/**
 * Stores a resource under a key.
 *
 * @param check holds the commit back; its position is the write's
 * @returns the resource as stored and as the caller sees it
 */
export async function putResource(
  key: GuardedKey,
  resource: AnyResource,
  expect: Expectation | undefined,
  session: RepositorySession,
  check?: GuardedWrite & { kind: 'unmatched' },
): Promise<AnyResource> {
  const { resourceType, ...elements } = resource;
  const kept = { resourceType, ...elements, id: key.id };
  const write: GuardedWrite = { kind: 'put', key, resource: kept, expect, keepSecrets: true };
  const results = await session.store.commit(check === undefined ? [write] : [check, write], session.options);
  const result = results.at(-1);
  if (result?.kind === 'put') return result.resource;
  throw new TypeError('A put has the result of a put');
}

/**
 * What the guard and the store look at before they look at the rest.
 *
 * @throws FhirError `invalid` - no JSON object, or of no known type
 */
export function assertResource(resource: unknown): asserts resource is AnyResource {
  if (!isJsonObject(resource)) throw new FhirError('invalid', 'A resource must be a JSON object');
  const type = Object.hasOwn(resource, 'resourceType') ? resource['resourceType'] : undefined;
  if (typeof type !== 'string') throw new FhirError('invalid', 'A resource must name its type in "resourceType"');
  if (!isResourceType(type)) throw new FhirError('invalid', `Unknown resource type ${quote(type)}`);
}
