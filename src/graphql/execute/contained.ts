import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';

/** What `#id` names inside a resource: of several contained ones with that id the first. */
export function containedIn(container: AnyResource, id: string): JsonObject | undefined {
  const contained = elementsOf(container)['contained'];
  if (!Array.isArray(contained)) return undefined;
  return contained.find((resource): resource is JsonObject => isJsonObject(resource) && resource['id'] === id);
}
