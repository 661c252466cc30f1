import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { elementsNamed } from '../../fhirpath/reach/places.js';

/**
 * The elements named by a policy's field: its path in JSON names, once per typed form of a choice.
 *
 * ```text
 * Patient      name.given       ['name.given']
 * Observation  component.value  ['component.valueQuantity', 'component.valueString', …]
 * Observation  value[x]         the same as `value`: FHIR's own name of the choice
 * ```
 *
 * @returns an empty list for a field that the type does not have
 * @throws FhirError `invalid` - choices inside choices give more than 1,000 paths
 */
export function fieldPaths(model: FhirModel, type: string, field: string): readonly string[] {
  const steps = field.split('.');
  const paths = new Set<string>();
  // Types in which the remaining steps do not resolve, cached because choices multiply the paths.
  const dead = new Set<string>();
  const walk = (from: string, depth: number, prefix: string): boolean => {
    const step = steps[depth];
    if (step === undefined) {
      if (paths.add(prefix).size > MAX_PATHS) {
        throw new FhirError('invalid', `names more than ${MAX_PATHS} elements; name one form of each choice in it`);
      }
      return true;
    }
    const state = `${depth} ${from}`;
    if (dead.has(state)) return false;
    let leads = false;
    for (const [name, next] of elementsNamed(model, from, step)) {
      if (walk(next, depth + 1, prefix === '' ? name : `${prefix}.${name}`)) leads = true;
    }
    if (!leads) dead.add(state);
    return leads;
  };
  if (steps.length <= MAX_STEPS) walk(type, 0, '');
  return [...paths];
}

/** Per field of a policy. */
const MAX_PATHS = 1_000;
/** Per field of a policy. */
const MAX_STEPS = 50;

/** Whether a policy's field is an element of the type. Inside a resource of any type (`contained.birthDate`), some type must have it. */
export function hasFieldNamed(model: FhirModel, type: string, field: string): boolean {
  const steps = field.split('.');
  return steps.length <= MAX_STEPS && resolves(model, type, steps, 0, new Set());
}

/** @param dead failed combinations */
function resolves(model: FhirModel, type: string, steps: readonly string[], depth: number, dead: Set<string>): boolean {
  const step = steps[depth];
  if (step === undefined) return true;
  const state = `${depth} ${type}`;
  if (dead.has(state)) return false;
  const leads = elementsNamed(model, type, step).some(([, next]) => resolves(model, next, steps, depth + 1, dead));
  if (!leads) dead.add(state);
  return leads;
}
