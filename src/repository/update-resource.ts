import { FhirError } from '../fhir/error.js';
import { isResourceId, type AnyResource } from '../fhir/resource.js';
import { expectationOf } from './if-match.js';
import { assertResource, putResource } from './put-resource.js';
import type { MatchOptions } from './repository.js';
import type { RepositorySession } from './repository-context.js';

/** See https://hl7.org/fhir/R4/http.html#update. */
export async function updateResource(
  resource: unknown,
  options: MatchOptions,
  session: RepositorySession,
): Promise<AnyResource> {
  assertResource(resource);
  const { resourceType: type, id } = resource;
  if (!isResourceId(id)) {
    throw new FhirError('invalid', `An update needs the id of the ${type}: 1 to 64 letters, digits, "-" or "."`);
  }
  return putResource({ type, id }, resource, expectationOf(options), session);
}
