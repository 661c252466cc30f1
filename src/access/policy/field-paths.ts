import type { PathStep, SearchParameterDefinition } from '../../fhir/definition-types.js';
import { resourceTypes, searchParameter, typeDefinition } from '../../fhir/definitions.js';
import { isA } from '../../fhir/type-hierarchy.js';

/**
 * The elements that a policy's field names: its path in JSON names, once per typed form where a step is a choice.
 *
 * ```text
 * Patient      name.given       ['name.given']
 * Observation  component.value  ['component.valueQuantity', 'component.valueString', …]
 * ```
 *
 * @returns an empty list for a field that the type does not have
 */
export function fieldPaths(type: string, field: string): readonly string[] {
  const paths: string[] = [];
  reach(type, field.split('.'), [], { end: (_, path) => paths.push(path.join('.')) });
  return paths;
}

/**
 * Whether a policy's field names an element of the type. Inside a resource of any type (`contained.birthDate`), where
 * {@link fieldPaths} takes every name, some type must have it.
 */
export function hasFieldNamed(type: string, field: string): boolean {
  return resolves(type, field.split('.'));
}

function resolves(type: string, [head, ...rest]: readonly string[]): boolean {
  if (head === undefined) return true;
  if (type === 'Resource') return resourceTypes().some((one) => resolves(one, [head, ...rest]));
  return elementsNamed(type, head).some(([, next]) => resolves(next, rest));
}

/**
 * The elements that a search parameter reads, in the form of {@link fieldPaths}: those it takes values from and those it
 * chooses by.
 *
 * @param code also `code:identifier` and `code$0`, as index entries name them
 */
export function pathsRead(type: string, code: string): readonly string[] {
  const parameter = searchParameter(type, code.replace(/[:$].*/, ''));
  if (parameter === undefined) return [];
  let paths = READ.get(parameter);
  if (paths === undefined) READ.set(parameter, (paths = [...new Set(collectPaths(type, parameter))]));
  return paths;
}

/** Definitions are made once per type and kept, so these are too. */
const READ = new WeakMap<SearchParameterDefinition, readonly string[]>();

/** Where a walk ends, and what it looks at on the way. */
interface Visit {
  readonly end: (type: string, path: readonly string[]) => void;
  readonly aside?: (path: readonly string[]) => void;
}

function collectPaths(type: string, parameter: SearchParameterDefinition): string[] {
  const { path, expression, components } = parameter;
  if (path === undefined) return elementsNamedIn(type, expression);
  const paths: string[] = [];
  const add = (found: readonly string[]): void => void paths.push(found.join('.'));
  for (const steps of path) {
    reach(type, steps, [], {
      aside: add,
      end: (reached, prefix) => {
        if (components === undefined) for (const read of readInside(reached, prefix)) add(read);
        for (const component of components ?? []) {
          if (component.path === undefined) add(prefix);
          for (const inner of component.path ?? []) {
            reach(reached, inner, prefix, { aside: add, end: (_, found) => add(found) });
          }
        }
      },
    });
  }
  return paths;
}

/** Of a Reference, indexes hold what it leads to and nothing of its display. */
function readInside(type: string, path: readonly string[]): (readonly string[])[] {
  return type === 'Reference' ? ['reference', 'identifier', 'type'].map((name) => [...path, name]) : [path];
}

/** Every element that an expression mentions, for the few whose form needs the FHIRPath library. */
function elementsNamedIn(type: string, expression: string): string[] {
  return (expression.match(/[A-Za-z]\w*/g) ?? []).flatMap((word) => fieldPaths(type, word));
}

function reach(type: string, steps: readonly PathStep[], prefix: readonly string[], visit: Visit): void {
  const [step, ...rest] = steps;
  if (step === undefined) {
    visit.end(type, prefix);
  } else if (typeof step === 'string') {
    for (const [name, next] of elementsNamed(type, step)) reach(next, rest, [...prefix, name], visit);
  } else if ('ofType' in step) {
    if (type === 'Resource' || isA(type, step.ofType)) reach(step.ofType, rest, prefix, visit);
  } else {
    if ('equals' in step) reach(type, step.path, prefix, { end: (_, path) => visit.aside?.(path) });
    reach(type, rest, prefix, visit);
  }
}

/** One element, or the typed forms of a choice, with their types. Inside a resource of any type every name may stand. */
function elementsNamed(type: string, name: string): readonly (readonly [name: string, type: string])[] {
  const elements = typeDefinition(type)?.elements;
  const single = elements?.get(name);
  if (single !== undefined) return [[name, single.type]];
  if (type === 'Resource') return [[name, 'Resource']];
  return [...(elements?.values() ?? [])]
    .filter(({ choiceOf }) => choiceOf === name)
    .map((element) => [element.name, element.type]);
}
