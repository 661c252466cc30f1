import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import type { CodeNames } from './code-names.js';
import { namesOfCodes } from './enums.js';
import { fieldsOf, RESOURCE, type FieldDescriptor } from './fields.js';
import { scalarOf } from './scalars.js';

/** The type of an input value: an input type of the schema by name, or a list of it. */
export interface InputPlace {
  /** `PatientInput`, `String`, {@link JSON_VALUE}, {@link RESOURCE_INPUT}. */
  readonly type: string;
  readonly array: boolean;
}

/** A field of an input type. */
export interface InputField extends InputPlace {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  /** The codes of an element with an enum; absent for other values. */
  readonly codes?: CodeNames;
}

/** Name of the scalar for any JSON value, used in patches. */
export const JSON_VALUE = 'JSON';
/** Name of the scalar for a whole resource of any type: contained ones, entries of a Bundle. */
export const RESOURCE_INPUT = 'ResourceInput';
/** Name of the input type for one operation of a JSON Patch. See https://www.rfc-editor.org/rfc/rfc6902#section-4. */
export const PATCH_OPERATION = 'PatchOperation';

/**
 * Name of the input type for a FHIR type: a scalar for primitives, `HumanNameInput` for `HumanName`. If that is already
 * the name of a type (`TaskInput` is the backbone element `Task.input`), it is `TaskResourceInput`.
 */
export function inputTypeName(model: FhirModel, type: string): string {
  const definition = model.typeDefinition(type);
  if (definition?.kind === 'primitive') return scalarOf(type).name;
  if (type === RESOURCE) return RESOURCE_INPUT;
  return model.typeDefinition(`${type}Input`) === undefined ? `${type}Input` : `${type}ResourceInput`;
}

/**
 * The fields of an input type, by name: those of the FHIR type with their `_` siblings, in its order. None is required,
 * since strictness is a setting of the project.
 *
 * @returns undefined for other names
 */
export function inputFieldsOf(model: FhirModel, name: string): ReadonlyMap<string, InputField> | undefined {
  const known = FIELDS(model);
  let fields = known.get(name);
  if (fields === undefined) {
    const type = typeOfInput(model, name);
    if (name !== PATCH_OPERATION && type === undefined) return undefined;
    const described =
      type === undefined
        ? PATCH_FIELDS
        : [...fieldsOf(model, type)!.values()].flatMap((field) => describeInput(model, field));
    known.set(name, (fields = new Map(described.map((field) => [field.name, field]))));
  }
  return fields;
}

/** Bounded by the number of types in the definitions. */
const FIELDS = perModel(() => new Map<string, ReadonlyMap<string, InputField>>());

/**
 * The input type that Medplum's schema calls `PatientCreate`, also in variables of updates. Documents may use that name; the
 * schema shows its own.
 *
 * @returns undefined for other names
 */
export function inputNamedByMedplum(model: FhirModel, name: string): string | undefined {
  const type = name.endsWith('Create') ? name.slice(0, -'Create'.length) : '';
  const kind = model.typeDefinition(type)?.kind;
  if (kind !== 'complex' && !(kind === 'resource' && model.isResourceType(type))) return undefined;
  return inputTypeName(model, type);
}

/** @returns the FHIR type that an input type is for; undefined for other names. */
export function typeOfInput(model: FhirModel, name: string): string | undefined {
  for (const suffix of ['ResourceInput', 'Input']) {
    const type = name.endsWith(suffix) ? name.slice(0, -suffix.length) : '';
    const kind = extensionFieldsOf(model).type(type) === undefined ? model.typeDefinition(type)?.kind : 'complex';
    if (kind === undefined || kind === 'primitive' || (kind === 'resource' && !model.isResourceType(type))) continue;
    if (inputTypeName(model, type) === name) return type;
  }
  return undefined;
}

function describeInput(model: FhirModel, field: FieldDescriptor): InputField[] {
  const { name } = field;
  switch (field.kind) {
    case 'resource-type':
      return [{ name, type: 'String', array: false, required: false, description: 'May be left out: it is known' }];
    case 'element': {
      const { type, array, short } = field.element;
      const place = { name, type: inputTypeName(model, type), array, required: false, description: short };
      return [withCodes(place, field.element, model)];
    }
    case 'extension': {
      const { type, array, short, value } = field.shape;
      const place = { name, type: inputTypeName(model, type), array, required: false, description: short };
      return [withCodes(place, value, model)];
    }
    case 'sibling': {
      const { array } = field.element;
      const description = `Id and extensions of ${field.element.name}`;
      return [{ name, type: inputTypeName(model, 'Element'), array, required: false, description }];
    }
    default:
      return [];
  }
}

function withCodes(field: InputField, element: ElementDefinition | undefined, model: FhirModel): InputField {
  const codes = element === undefined ? undefined : namesOfCodes(model, element);
  return codes === undefined ? field : { ...field, codes };
}

const PATCH_FIELDS: readonly InputField[] = [
  {
    name: 'op',
    type: 'String',
    array: false,
    required: true,
    description: 'What to do: add, remove, replace, move, copy or test',
  },
  {
    name: 'path',
    type: 'String',
    array: false,
    required: true,
    description: 'Where, as a JSON Pointer: /name/0/family',
  },
  { name: 'from', type: 'String', array: false, required: false, description: 'Of move and copy: where it is now' },
  { name: 'value', type: JSON_VALUE, array: false, required: false, description: 'Of add, replace and test: any JSON' },
];
