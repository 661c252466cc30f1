import { takeElement } from '../../fhir/json/written-decimal.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';

/**
 * The values of the extensions of an object that have a url, in their order.
 *
 * @param value the element of the extension that has the value; undefined: the extension itself
 */
export function extensionValues(object: JsonObject, url: string, value: string | undefined): readonly unknown[] {
  const { extension } = object;
  // Malformed stored data may have a single value in place of a list.
  const all: readonly unknown[] = Array.isArray(extension) ? extension : [extension];
  const extensions = all.filter((one): one is JsonObject => isJsonObject(one) && one['url'] === url);
  if (value === undefined) return extensions;
  return extensions.map((one) => takeElement(one, value)).filter((one) => one !== undefined && one !== null);
}
