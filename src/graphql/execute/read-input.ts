import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { fromElements, plainValue, takeElement } from '../../fhir/json/written-decimal.js';
import { isJsonObject, MAX_RESOURCE_DEPTH } from '../../fhir/resource.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
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
 * removed, except for list items, where they are placeholders. Decimals keep how they are written.
 */
export function readInput(
  model: FhirModel,
  place: InputPlace | InputField,
  value: unknown,
): { readonly value: unknown; readonly faults: readonly InputFault[] } {
  const reader = new Reader(model);
  return { value: reader.read(place, value, '', 0), faults: reader.faults };
}

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
      // Integers are written in one way only.
      return read === plain && type !== 'Int' ? value : read;
    }
    if (depth === MAX_RESOURCE_DEPTH) return this.#refuse(path, `nests deeper than ${MAX_RESOURCE_DEPTH} levels`);
    if (!isJsonObject(plainValue(value)) || !isJsonObject(value))
      return this.#refuse(path, `expected an object of type "${type}"`);
    const fields = inputFieldsOf(this.model, type)!;
    const read: [name: string, value: unknown][] = [];
    for (const name of Object.keys(value)) {
      if (this.faults.length >= MAX_FAULTS) break;
      const inner = takeElement(value, name);
      const field = fields.get(name);
      if (field === undefined) {
        const hint = didYouMean(name, fields.keys());
        this.#refuse(path, `field "${name.slice(0, 64)}" is not defined by type "${type}".${hint}`);
      } else if (inner !== null && inner !== undefined) {
        read.push([name, this.read(field, inner, `${path}.${name}`, depth + 1)]);
      } else if (type === PATCH_OPERATION && name === 'value' && inner === null) {
        read.push([name, null]);
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
