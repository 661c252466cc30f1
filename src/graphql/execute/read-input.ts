import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import { isPart } from '../../fhir/json/parts.js';
import { fromElements, plainValue, takeElement } from '../../fhir/json/written-decimal.js';
import { isJsonObject, type JsonObject, MAX_RESOURCE_DEPTH } from '../../fhir/resource.js';
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
 * removed, except for list items, where they are placeholders. Decimals keep their digits.
 *
 * In steps: each short part of a long value is one step.
 *
 * PERF: a variable is read when it is coerced, and again, unchanged, as an argument.
 */
export function* readInput(
  model: FhirModel,
  place: InputPlace | InputField,
  value: unknown,
): Generator<void, { readonly value: unknown; readonly faults: readonly InputFault[] }> {
  if (isJsonObject(value) && !place.array && READ_AS(model).get(value) === place.type) return { value, faults: [] };
  const reader = new Reader(model);
  const read = yield* reader.reading(place, value, '', 0);
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

  /** {@link read} in steps, one for each short part. */
  *reading(place: InputPlace | InputField, value: unknown, path: string, depth: number): Generator<void, unknown> {
    yield;
    if (isPart(value)) return this.read(place, value, path, depth);
    if (!place.array) return yield* this.#readingOne(place, value, path, depth);
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    const read: unknown[] = [];
    for (let index = 0; index < items.length; index++) {
      const item = items[index];
      read.push(item == null ? null : yield* this.#readingOne(place, item, `${path}[${index}]`, depth));
    }
    return read;
  }

  *#readingOne(place: InputPlace | InputField, value: unknown, path: string, depth: number): Generator<void, unknown> {
    yield;
    if (isPart(value) || depth === MAX_RESOURCE_DEPTH || !isObjectFor(place, value)) {
      return this.#one(place, value, path, depth);
    }
    const read: Member[] = [];
    for (const name of Object.keys(value)) {
      if (this.faults.length >= MAX_FAULTS) break;
      const member = this.#member(place.type, value, name, path);
      if (member === undefined) continue;
      read.push([name, yield* this.reading(member.field, member.inner, `${path}.${name}`, depth + 1)]);
    }
    return this.#object(place.type, value, read, path);
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
    const read: Member[] = [];
    for (const name of Object.keys(value)) {
      if (this.faults.length >= MAX_FAULTS) break;
      const member = this.#member(type, value, name, path);
      if (member === undefined) continue;
      read.push([name, this.read(member.field, member.inner, `${path}.${name}`, depth + 1)]);
    }
    return this.#object(type, value, read, path);
  }

  /** The field of a member and its value; undefined if there is nothing to read: the name is unknown, or the value null. */
  #member(
    type: string,
    object: JsonObject,
    name: string,
    path: string,
  ): { field: InputField; inner: unknown } | undefined {
    const inner = takeElement(object, name);
    const fields = inputFieldsOf(this.model, type)!;
    const field = fields.get(name);
    if (field === undefined) {
      const hint = didYouMean(name, fields.keys());
      this.#refuse(path, `field "${name.slice(0, 64)}" is not defined by type "${type}".${hint}`);
      return undefined;
    }
    const isKept = inner !== undefined && (inner !== null || (type === PATCH_OPERATION && name === 'value'));
    return isKept ? { field, inner } : undefined;
  }

  #object(type: string, given: JsonObject, members: readonly Member[], path: string): unknown {
    for (const field of inputFieldsOf(this.model, type)!.values()) {
      if (field.required && given[field.name] == null) {
        this.#refuse(path, `field "${field.name}" of type "${type}" must be given`);
      }
    }
    return fromElements(members);
  }

  #refuse(path: string, reason: string): undefined {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ path, reason });
    return undefined;
  }
}

type Member = readonly [name: string, value: unknown];

/** Whether to read the members of a value; an object in place of a scalar is a fault. */
function isObjectFor({ type }: InputPlace, value: unknown): value is JsonObject {
  return !INPUT_SCALARS.has(type) && isJsonObject(plainValue(value)) && isJsonObject(value);
}
