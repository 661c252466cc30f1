import { copyObject } from '../../../fhir/json/decimal-texts.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../../fhir/resource.js';
import { secretFields } from '../../../fhir/secret-fields.js';

/**
 * Restores the secrets that a resource lacks from the replaced version, since reads do not return them. For trusted
 * code only.
 *
 * An item of a list keeps the secrets of the stored item with the same `name`.
 */
export function keepSecrets(stored: AnyResource, asked: AnyResource): AnyResource {
  const kept = secretFields(stored.resourceType).reduce(
    (resource, path) => withPath(elementsOf(stored), resource, path.split('.')),
    elementsOf(asked),
  );
  return kept as unknown as AnyResource;
}

function withPath(stored: JsonObject, asked: JsonObject, [name, ...rest]: readonly string[]): JsonObject {
  const [before, after] = [stored[name!], asked[name!]];
  if (before === undefined) return asked;
  if (rest.length === 0) return after === undefined ? { ...copyObject(asked), [name!]: before } : asked;
  if (isJsonObject(before) && isJsonObject(after))
    return { ...copyObject(asked), [name!]: withPath(before, after, rest) };
  if (!Array.isArray(before) || !Array.isArray(after)) return asked;
  const items = after.map((item: unknown) => {
    const stored = isJsonObject(item)
      ? before.find((one) => isJsonObject(one) && one['name'] === item['name'])
      : undefined;
    return isJsonObject(stored) && isJsonObject(item) ? withPath(stored, item, rest) : item;
  });
  return { ...copyObject(asked), [name!]: items };
}
