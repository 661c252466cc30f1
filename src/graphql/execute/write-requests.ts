import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { WriteRequest } from '../../interactions/write-request.js';
import { evaluateJson, evaluateSingleText, type Variables } from '../plan/arguments.js';
import type { WriteField } from '../plan/plan.js';
import { inputTypeName, PATCH_OPERATION, type InputPlace } from '../schema/input-fields.js';
import { foldExtensions } from './fold-extensions.js';
import { readInput } from './read-input.js';

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
