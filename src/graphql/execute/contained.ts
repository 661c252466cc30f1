import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';

/** Resolves `#id` inside a resource: the first contained resource with that id. */
export function containedIn(container: AnyResource, id: string): JsonObject | undefined {
  const contained = elementsOf(container)['contained'];
  if (!Array.isArray(contained)) return undefined;
  return contained.find((resource): resource is JsonObject => isJsonObject(resource) && resource['id'] === id);
}
