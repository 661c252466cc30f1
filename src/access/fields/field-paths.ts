import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import type { PathStep, SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import { getOrCreate } from '../../platform/maps.js';

/**
 * The elements named by a policy's field: its path in JSON names, once per typed form of a choice.
 *
 * ```text
 * Patient      name.given       ['name.given']
 * Observation  component.value  ['component.valueQuantity', 'component.valueString', …]
 * ```
 *
 * @returns an empty list for a field that the type does not have
 * @throws FhirError `invalid` - choices inside choices give more than 1,000 paths
 */
export function fieldPaths(model: FhirModel, type: string, field: string): readonly string[] {
  const steps = field.split('.');
  const paths: string[] = [];
  // Types in which the remaining steps do not resolve, cached because choices multiply the paths.
  const dead = new Set<string>();
  const walk = (from: string, depth: number, prefix: string): boolean => {
    const step = steps[depth];
    if (step === undefined) {
      if (paths.push(prefix) > MAX_PATHS) {
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
  return paths;
}

/** Per field of a policy. */
const MAX_PATHS = 1_000;
/** Per field of a policy. */
const MAX_STEPS = 50;

/**
 * Whether a policy's field is an element of the type. Inside a resource of any type (`contained.birthDate`), where
 * {@link fieldPaths} accepts every name, some type must have it.
 */
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
  const leads =
    type === 'Resource'
      ? model.resourceTypes.some((one) => resolves(model, one, steps, depth, dead))
      : elementsNamed(model, type, step).some(([, next]) => resolves(model, next, steps, depth + 1, dead));
  if (!leads) dead.add(state);
  return leads;
}

/**
 * The elements that a search parameter reads, in the form of {@link fieldPaths}: those it takes values from and those it
 * chooses by.
 *
 * @param code also `code:identifier` and `code$0`, as index entries name them, and {@link INSIDE}
 */
export function pathsRead(model: FhirModel, type: string, code: string): readonly string[] {
  if (code === INSIDE) return INSIDE_HEADS;
  const parameter = model.searchParameter(type, code.replace(/[:$].*/, ''));
  if (parameter === undefined) return [];
  const read = READ(model);
  const paths = getOrCreate(read, parameter, () => [...new Set(collectPaths(model, type, parameter))]);
  if (!code.includes(':')) return paths;
  const inside = parameter.path?.some((steps) => hasTypeTest(steps.at(-1))) === true ? TYPES_INSIDE : [];
  if (!code.endsWith(':present')) return [...paths, ...inside];
  const withDisplay = paths.flatMap((path) =>
    path.endsWith('.reference') ? [path, path.replace(/reference$/, 'display')] : path,
  );
  return [...withDisplay, ...inside];
}

/** Represents the elements that chains read when they enter contained resources. */
export const INSIDE = '#';

/** Where chains find resources inside: `Bundle.composition` and `.message` mean entries. */
const INSIDE_HEADS = ['contained', 'entry'];

/**
 * The elements that `subject.where(resolve() is Patient)` reads of a reference `#id`. The index has its identifier and
 * its presence, but no value: searches for `Patient/1` do not depend on contained resources.
 */
const TYPES_INSIDE = ['contained.id', 'contained.resourceType'];
/** In a Bundle, a reference can also name another entry; such a reference has a value in the index. */
const TYPES_OF_ENTRIES = ['entry.fullUrl', 'entry.resource.resourceType'];

function hasTypeTest(step: PathStep | undefined): boolean {
  return typeof step === 'object' && 'resolvesTo' in step;
}

/** Definitions are made once per type and kept, so these are too. */
const READ = perModel(() => new WeakMap<SearchParameterDefinition, readonly string[]>());

/** The end of a walk, and the elements read along the way. */
interface Visit {
  readonly end: (type: string, path: readonly string[]) => void;
  readonly aside: (path: readonly string[]) => void;
  /** The type of a reference's target is tested; by the last step, or before others. */
  readonly typeTest: (isLast: boolean) => void;
}

function collectPaths(model: FhirModel, type: string, parameter: SearchParameterDefinition): string[] {
  const { path, expression, components } = parameter;
  if (path === undefined) return elementsNamedIn(model, type, expression);
  const paths: string[] = [];
  const add = (found: readonly string[]): void => void paths.push(found.join('.'));
  const typeTest = (isLast: boolean): void => {
    if (!isLast || components !== undefined) paths.push(...TYPES_INSIDE);
    if (type === 'Bundle') paths.push(...TYPES_OF_ENTRIES);
  };
  for (const steps of path) {
    reach(model, type, steps, [], {
      aside: add,
      typeTest,
      end: (reached, prefix) => {
        if (components === undefined) for (const read of readInside(reached, prefix)) add(read);
        for (const component of components ?? []) {
          if (component.path === undefined) add(prefix);
          for (const inner of component.path ?? []) {
            reach(model, reached, inner, prefix, { aside: add, typeTest, end: (_, found) => add(found) });
          }
        }
      },
    });
  }
  return paths;
}

/**
 * Indexes contain the target of a Reference, but only the presence of its display (`code:present`). The `fullUrl` of an
 * entry names its resource, and decides what its references mean.
 */
function readInside(type: string, path: readonly string[]): (readonly string[])[] {
  const read = type === 'Reference' ? ['reference', 'identifier', 'type'].map((name) => [...path, name]) : [path];
  const isOfEntry = path[0] === 'entry' && (type === 'Resource' || type === 'Reference');
  return isOfEntry ? [...read, ['entry', 'fullUrl']] : read;
}

/** Every element that an expression mentions, for those whose form needs the FHIRPath library. */
function elementsNamedIn(model: FhirModel, type: string, expression: string): string[] {
  if (UNNAMED_READS.test(expression)) return [...model.typeDefinition(type)!.elements.keys()];
  return expression.match(/[A-Za-z]\w*/g)!.flatMap((word) => fieldPaths(model, type, word));
}

/** Matches functions that read elements without naming them, and escapes in names. */
const UNNAMED_READS = /\b(?:children|descendants)\b|\\/;

function reach(
  model: FhirModel,
  type: string,
  steps: readonly PathStep[],
  prefix: readonly string[],
  visit: Visit,
): void {
  const [step, ...rest] = steps;
  if (step === undefined) {
    visit.end(type, prefix);
  } else if (typeof step === 'string') {
    for (const [name, next] of elementsNamed(model, type, step)) reach(model, next, rest, [...prefix, name], visit);
  } else if ('ofType' in step) {
    if (type === 'Resource' || model.isA(type, step.ofType)) reach(model, step.ofType, rest, prefix, visit);
  } else {
    if ('equals' in step) reach(model, type, step.path, prefix, { ...visit, end: (_, path) => visit.aside(path) });
    if (hasTypeTest(step)) visit.typeTest(rest.length === 0);
    reach(model, type, rest, prefix, visit);
  }
}

/** One element, or the typed forms of a choice, with their types. A resource of unknown type may have any element. */
function elementsNamed(
  model: FhirModel,
  type: string,
  name: string,
): readonly (readonly [name: string, type: string])[] {
  const elements = model.typeDefinition(type)?.elements;
  const single = elements?.get(name);
  if (single !== undefined) return [[name, single.type]];
  if (type === 'Resource') return [[name, 'Resource']];
  return [...(elements?.values() ?? [])]
    .filter(({ choiceOf }) => choiceOf === name)
    .map((element) => [element.name, element.type]);
}
