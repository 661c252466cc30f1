import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { fromElements, plainValue, takeElement } from '../../fhir/json/decimal-texts.js';
import { isJsonObject, type JsonObject, MAX_RESOURCE_DEPTH } from '../../fhir/resource.js';
import { didYouMean } from '../../fhir/messages.js';
import { codeOf } from '../schema/code-names.js';
import { inputFieldsOf, PATCH_OPERATION, type InputField, type InputPlace } from '../schema/input-fields.js';
import { expectedOf, INPUT_SCALARS, readScalar } from '../schema/input-scalars.js';

/** A fault of an input value: its location (`.name[0].family`) and the reason, without the value. */
export interface InputFault {
  readonly path: string;
  readonly reason: string;
}

/** Maximum number of faults reported at once. */
const MAX_FAULTS = 20;

/**
 * Converts a client's input value to FHIR JSON: single values become lists where lists are declared, and nulls are
 * removed, except for list items, where they are placeholders. Decimals keep their digits.
 *
 * A variable is read when it is coerced, and again, unchanged, as an argument.
 */
export function readInput(
  model: FhirModel,
  place: InputPlace | InputField,
  value: unknown,
): { readonly value: unknown; readonly faults: readonly InputFault[] } {
  if (isJsonObject(value) && !place.array && READ_AS(model).get(value) === place.type) return { value, faults: [] };
  const reader = new Reader(model);
  const read = reader.read(place, value, '', 0);
  if (isJsonObject(read) && reader.faults.length === 0) READ_AS(model).set(read, place.type);
  return { value: read, faults: reader.faults };
}

/** The types of the objects that were read without faults. Nobody changes them. */
const READ_AS = perModel(() => new WeakMap<JsonObject, string>());

class Reader {
  readonly faults: InputFault[] = [];

  constructor(private readonly model: FhirModel) {}

  read(place: InputPlace | InputField, value: unknown, path: string, depth: number): unknown {
    if (value === null || value === undefined) return value;
    if (!place.array) return this.#one(place, value, path, depth);
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return items.map((item, index) => (item == null ? null : this.#one(place, item, `${path}[${index}]`, depth)));
  }

  #one(place: InputPlace | InputField, value: unknown, path: string, depth: number): unknown {
    const { type } = place;
    if (INPUT_SCALARS.has(type)) {
      const plain = plainValue(value);
      const read = readScalar(type, plain);
      if (read === undefined) return this.#refuse(path, `expected ${expectedOf(type)}`);
      if ('codes' in place)
        return codeOf(place.codes, read as string) ?? this.#refuse(path, 'expected a value of its enum');
      // An integer has only one notation.
      return read === plain && type !== 'Int' ? value : read;
    }
    if (depth === MAX_RESOURCE_DEPTH) return this.#refuse(path, `nests deeper than ${MAX_RESOURCE_DEPTH} levels`);
    if (!isObjectFor(place, value)) return this.#refuse(path, `expected an object of type "${type}"`);
    return this.#object(type, value, path, depth);
  }

  #object(type: string, value: JsonObject, path: string, depth: number): unknown {
    const fields = inputFieldsOf(this.model, type)!;
    const read: [name: string, value: unknown][] = [];
    for (const name of Object.keys(value)) {
      if (this.faults.length >= MAX_FAULTS) break;
      const inner = takeElement(value, name);
      const field = fields.get(name);
      if (field === undefined) {
        const hint = didYouMean(name, fields.keys());
        this.#refuse(path, `field "${name.slice(0, 64)}" is not defined by type "${type}".${hint}`);
      } else if (inner !== undefined && (inner !== null || (type === PATCH_OPERATION && name === 'value'))) {
        read.push([name, this.read(field, inner, `${path}.${name}`, depth + 1)]);
      }
    }
    for (const field of fields.values()) {
      if (field.required && value[field.name] == null) {
        this.#refuse(path, `field "${field.name}" of type "${type}" must be given`);
      }
    }
    return fromElements(read);
  }

  #refuse(path: string, reason: string): undefined {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ path, reason });
    return undefined;
  }
}

/** Whether to read the members of a value; an object in place of a scalar is a fault. */
function isObjectFor({ type }: InputPlace, value: unknown): value is JsonObject {
  return !INPUT_SCALARS.has(type) && isJsonObject(plainValue(value)) && isJsonObject(value);
}
