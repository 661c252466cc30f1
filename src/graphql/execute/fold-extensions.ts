import { FhirError } from '../../fhir/error.js';
import { fromElements, takeElement } from '../../fhir/json/written-decimal.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { ExtensionShape } from '../../profiles/extension-shapes.js';
import { fieldsOf } from '../schema/fields.js';

/**
 * Turns the fields of extensions in a resource back into extensions, which follow those in `extension`. Input of bounded
 * depth, as `readInput` gives it.
 *
 * @throws FhirError `invalid` - `extension` contains an extension that a field also sets
 */
export function foldExtensions(model: FhirModel, type: string, resource: JsonObject): JsonObject {
  if (model.profiles.length === 0) return resource;
  return foldObject(model, type, resource, type);
}

function foldObject(model: FhirModel, type: string, object: JsonObject, path: string): JsonObject {
  const fields = fieldsOf(model, type);
  if (fields === undefined) return object;
  const kept: (readonly [string, unknown])[] = [];
  const folded: JsonObject[] = [];
  for (const name of Object.keys(object)) {
    const value = takeElement(object, name);
    const field = fields.get(name);
    if (field?.kind === 'extension') folded.push(...extensionsOf(model, field.shape, value, `${path}.${name}`));
    else if (field?.kind === 'element')
      kept.push([name, foldValue(model, field.element.type, value, `${path}.${name}`)]);
    else kept.push([name, value]);
  }
  if (folded.length === 0) return fromElements(kept);
  const plain = kept.find(([name]) => name === 'extension')?.[1];
  const given = Array.isArray(plain) ? (plain as readonly unknown[]) : [];
  const twice = folded.find(({ url }) => given.some((one) => isJsonObject(one) && one['url'] === url));
  if (twice !== undefined) {
    throw new FhirError(
      'invalid',
      `${path} has the extension ${String(twice['url'])} both in "extension" and as a field; give it once`,
    );
  }
  return fromElements([...kept.filter(([name]) => name !== 'extension'), ['extension', [...given, ...folded]]]);
}

function foldValue(model: FhirModel, type: string, value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => foldValue(model, type, item, path));
  return isJsonObject(value) && model.typeDefinition(type)?.kind === 'complex'
    ? foldObject(model, type, value, path)
    : value;
}

/** The extensions that the value of a field represents. */
function extensionsOf(
  model: FhirModel,
  { url, value: element, type }: ExtensionShape,
  value: unknown,
  path: string,
): readonly JsonObject[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.flatMap((item): JsonObject[] => {
    if (item === null || item === undefined) return [];
    if (element !== undefined)
      return [
        fromElements([
          ['url', url],
          [element.name, foldValue(model, type, item, path)],
        ]),
      ];
    if (!isJsonObject(item)) return [];
    return [fromElements([['url', url], ...entriesOf(foldObject(model, type, item, path))])];
  });
}

function entriesOf(object: JsonObject): readonly (readonly [string, unknown])[] {
  return Object.keys(object).map((name) => [name, takeElement(object, name)]);
}
