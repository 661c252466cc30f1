import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { WriteRequest } from '../../interactions/write-request.js';
import { evaluateJson, evaluateSingleText, type Variables } from '../plan/arguments.js';
import type { WriteField } from '../plan/plan.js';
import { inputTypeName, PATCH_OPERATION, type InputPlace } from '../schema/input-fields.js';
import { readInput } from './read-input.js';
import { fromElements, takeElement } from '../../fhir/json/decimal-texts.js';
import type { ExtensionShape } from '../../profiles/extension-shapes.js';
import { fieldsOf } from '../schema/fields.js';

/**
 * The write requested by a mutation field, with this request's variables.
 *
 * @throws FhirError `invalid` - an argument is missing or malformed
 */
export function writeRequest(model: FhirModel, field: WriteField, variables: Variables): WriteRequest {
  const { interaction, type } = field;
  const ifMatch = text('ifMatch', field, variables);
  switch (interaction) {
    case 'create':
      return {
        interaction,
        resource: resourceOf(model, field, variables),
        ifNoneExist: text('ifNoneExist', field, variables),
      };
    case 'update':
      return {
        interaction,
        resource: identified(resourceOf(model, field, variables), field, variables),
        ifMatch,
      };
    case 'patch': {
      const operations = input(model, 'patch', { type: PATCH_OPERATION, array: true }, field, variables);
      return { interaction, key: { type, id: idOf(field, variables) }, operations, ifMatch };
    }
    case 'delete':
      return { interaction, key: { type, id: idOf(field, variables) }, ifMatch };
  }
}

/** The `res` argument. `resourceType` may be omitted; if present, it must match the field. */
function resourceOf(model: FhirModel, field: WriteField, variables: Variables): JsonObject {
  const { type } = field;
  const resource = input(model, 'res', { type: inputTypeName(model, type), array: false }, field, variables);
  if (!isJsonObject(resource)) throw new FhirError('invalid', 'Argument "res" must be given');
  const { resourceType = type, ...elements } = foldExtensions(model, type, resource);
  if (resourceType === type) return { resourceType, ...elements };
  throw new FhirError('invalid', `Argument "res" must be a ${type}; its resourceType names something else`);
}

/** See https://hl7.org/fhir/R4/http.html#update: an id in the resource is the one that is updated. */
function identified(resource: JsonObject, field: WriteField, variables: Variables): JsonObject {
  const id = idOf(field, variables);
  const { id: own = id } = resource;
  if (own === id) return { ...resource, id };
  throw new FhirError('invalid', `The ${field.type} in argument "res" has another id than argument "id"`);
}

function idOf(field: WriteField, variables: Variables): string {
  const id = text('id', field, variables);
  if (id !== undefined) return id;
  throw new FhirError('invalid', 'Argument "id" must be given');
}

function text(name: string, { args }: WriteField, variables: Variables): string | undefined {
  return evaluateSingleText(name, args[name], variables);
}

function input(model: FhirModel, name: string, place: InputPlace, { args }: WriteField, variables: Variables): unknown {
  const { value, faults } = readInput(model, place, evaluateJson(args[name], variables));
  const [fault] = faults;
  if (fault === undefined) return value;
  throw new FhirError('invalid', `Argument "${name}" at "${name}${fault.path}": ${fault.reason}`, {
    issues: faults.map(({ path, reason }) => ({ code: 'invalid', diagnostics: `${name}${path}: ${reason}` })),
  });
}

/**
 * Turns the fields of extensions in a resource back into extensions, which follow those in `extension`. Input of bounded
 * depth, as `readInput` gives it.
 *
 * @throws FhirError `invalid` - `extension` contains an extension that a field also sets
 */
function foldExtensions(model: FhirModel, type: string, resource: JsonObject): JsonObject {
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
