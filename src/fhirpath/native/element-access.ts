import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { bail, type Evaluate, type Items } from './native.js';

/** How JSON writes the values of a type; undefined for types that are left to fhirpath.js. */
export function jsonTypeOf(model: FhirModel, type: string): 'string' | 'number' | 'boolean' | 'object' | undefined {
  if (type === 'boolean') return 'boolean';
  if (NUMBERS.has(type)) return 'number';
  const kind = model.typeDefinition(type)?.kind;
  // fhirpath.js starts a new path at a contained resource.
  return kind === 'primitive' ? 'string' : kind === 'complex' ? 'object' : undefined;
}

const NUMBERS: ReadonlySet<string> = new Set(['decimal', 'integer', 'positiveInt', 'unsignedInt']);

/**
 * Reads an element, or the typed forms of a choice, from each item of an expression's result.
 *
 * @param keeps which forms of a choice to read. Default: all.
 */
export function readElements(
  model: FhirModel,
  from: Evaluate,
  elements: readonly ElementDefinition[],
  keeps: (element: ElementDefinition) => boolean = () => true,
): Evaluate | undefined {
  const readers = elements.map((element) => compileReader(model, element, keeps(element)));
  if (!readers.every((reader) => reader !== undefined)) return undefined;
  return (self, budget) => {
    const result: unknown[] = [];
    for (const item of from(self, budget)) {
      if (!isJsonObject(item)) bail();
      let forms = 0;
      for (const read of readers) if (read(item, result)) forms += 1;
      // Two forms of one choice are invalid data, and fhirpath.js reads only one of them.
      if (forms > 1) bail();
    }
    // Nearly all elements have one value or none; their node is charged.
    if (result.length > 1) budget.spend(result.length);
    return result;
  };
}

/** Appends the values of an element to the result. @returns whether there were any. */
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
  // fhirpath.js treats every object with a resourceType as a resource.
  if (!isJsonObject(value) || value.resourceType !== undefined) bail();
}
