import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { bail, type Evaluate, type Items } from './collection.js';

/** How JSON writes the values of a type; undefined for types that are left to the library. */
export function jsonTypeOf(model: FhirModel, type: string): 'string' | 'number' | 'boolean' | 'object' | undefined {
  if (type === 'boolean') return 'boolean';
  if (NUMBERS.has(type)) return 'number';
  const kind = model.typeDefinition(type)?.kind;
  // A resource inside of a resource starts a path of its own in the library.
  return kind === 'primitive' ? 'string' : kind === 'complex' ? 'object' : undefined;
}

const NUMBERS: ReadonlySet<string> = new Set(['decimal', 'integer', 'positiveInt', 'unsignedInt']);

/**
 * Reads an element, or the forms of a choice, from each item that an expression gives.
 *
 * @param keeps which forms of a choice to take; all when left out.
 */
export function readElements(
  model: FhirModel,
  from: Evaluate,
  elements: readonly ElementDefinition[],
  keeps: (element: ElementDefinition) => boolean = () => true,
): Evaluate | undefined {
  const readers = elements.map((element) => compileReader(model, element, keeps(element)));
  if (!readers.every((reader) => reader !== undefined)) return undefined;
  return (self) => {
    const result: unknown[] = [];
    for (const item of from(self)) {
      if (!isJsonObject(item)) bail();
      let forms = 0;
      for (const read of readers) if (read(item, result)) forms += 1;
      // Two forms of one choice are an error in the data, and the library takes only one of them.
      if (forms > 1) bail();
    }
    return result;
  };
}

/** Adds the values of an element to the result. @returns whether there are any. */
type Reader = (owner: JsonObject, result: unknown[]) => boolean;

function compileReader(model: FhirModel, { name, type }: ElementDefinition, isKept: boolean): Reader | undefined {
  const sibling = `_${name}`;
  const jsonType = jsonTypeOf(model, type);
  if (jsonType === undefined) return undefined;
  const check = jsonType === 'object' ? checkObject : (value: unknown) => typeof value === jsonType || bail();
  return (owner, result) => {
    if (owner[sibling] !== undefined) bail();
    const value = owner[name];
    if (value === undefined) return false;
    for (const item of Array.isArray(value) ? (value as Items) : [value]) {
      check(item);
      if (isKept) result.push(item);
    }
    return true;
  };
}

function checkObject(value: unknown): void {
  // The library takes anything with a resourceType for a resource.
  if (!isJsonObject(value) || value.resourceType !== undefined) bail();
}
