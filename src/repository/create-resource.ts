import { randomUUID } from 'node:crypto';
import { FhirError } from '../fhir/error.js';
import type { AnyResource } from '../fhir/resource.js';
import { parseSearch } from '../search/parse-search.js';
import { assertResource, putResource } from './put-resource.js';
import type { CreateOptions } from './repository.js';
import type { RepositorySession } from './repository-context.js';

/** How often a condition is looked at anew when a match came between looking and storing. */
const ATTEMPTS = 3;

/** See https://hl7.org/fhir/R4/http.html#create and #ccreate. */
export async function createResource(
  resource: unknown,
  { ifNoneExist }: CreateOptions,
  session: RepositorySession,
): Promise<AnyResource> {
  assertResource(resource);
  const type = resource.resourceType;
  const create = (check?: Parameters<typeof putResource>[4]): Promise<AnyResource> =>
    putResource({ type, id: randomUUID() }, resource, { version: null }, session, check);
  if (ifNoneExist === undefined) return create();

  const { criteria } = parseSearch(type, ifNoneExist, { baseUrl: session.baseUrl });
  if (criteria.kind === 'all') throw new FhirError('invalid', 'ifNoneExist needs at least one search parameter');
  for (let attempt = 1; ; attempt += 1) {
    const { matches } = await session.store.search({ type, criteria, limit: 2 }, session.options);
    if (matches.length > 1) {
      throw new FhirError('precondition-failed', `Several ${type} resources match ifNoneExist; at most one may`);
    }
    if (matches[0] !== undefined) return matches[0].resource;
    try {
      return await create({ kind: 'unmatched', query: { type, criteria } });
    } catch (error) {
      const overtaken = error instanceof FhirError && error.code === 'conflict' && error.details?.['index'] === 0;
      if (!overtaken || attempt === ATTEMPTS) throw error;
    }
  }
}
