import type { Container } from '../../fhir/container.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition, PathExpression, PathStep } from '../../fhir/model/definition-types.js';
import { referenceStub } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';

/** Optional members of a context that resolve references to resources that the walked one contains. */
interface ReferenceContext {
  containerOf(reference: JsonObject): Container;
}

/** Receives each value that a path reaches. `Context` is passed through; it may be a {@link ReferenceContext}. */
export type Visitor<Context> = (value: unknown, context: Context) => void;

/** The static type and the element of a value; undefined for the value a path starts from. */
export interface Position {
  readonly type: string;
  readonly element?: ElementDefinition;
}

/** Chooses the visitor for the values at a position, once per compiled path; undefined skips them. */
type VisitorFor<Context> = (position: Position) => Visitor<Context> | undefined;

/**
 * Compiles a path to a function that walks from a value of type `type` to everything the path reaches: alternative by
 * alternative, in document order. Values of the wrong JSON shape and nulls are skipped.
 *
 * @returns undefined if the path reaches nothing.
 */
export function compilePath<Context>(
  model: FhirModel,
  type: string,
  path: PathExpression,
  visitorFor: VisitorFor<Context>,
): Visitor<Context> | undefined {
  return inSequence(path.map((steps) => compileSteps(model, steps, { type }, visitorFor)));
}

/** The positions that a path leads to from values of these types. */
export function reachedFrom(model: FhirModel, types: readonly string[], path: PathExpression): readonly Position[] {
  const reached: Position[] = [];
  for (const type of types) compilePath(model, type, path, (position) => void reached.push(position));
  return reached;
}

function compileSteps<Context>(
  model: FhirModel,
  steps: readonly PathStep[],
  from: Position,
  visitorFor: VisitorFor<Context>,
): Visitor<Context> | undefined {
  const [step, ...rest] = steps;
  if (step === undefined) return visitorFor(from);
  if (typeof step === 'string') return compileMember(model, step, rest, from, visitorFor);
  if ('ofType' in step && !model.isA(from.type, step.ofType) && from.type !== 'Resource') return undefined;
  const next = compileSteps(model, rest, from, visitorFor);
  if (next === undefined) return undefined;
  if ('ofType' in step) return compileOfType(model, step.ofType, from, next);
  if ('resolvesTo' in step) return compileResolvesTo(step.resolvesTo, next);
  if ('equals' in step) return compileEquals(step.path, step.equals, next);
  // An index applies to the member before it; see compileMember.
  return step.index === 0 && from.element?.array !== true ? next : undefined;
}

function compileMember<Context>(
  model: FhirModel,
  name: string,
  rest: readonly PathStep[],
  from: Position,
  visitorFor: VisitorFor<Context>,
): Visitor<Context> | undefined {
  const [following, ...afterIndex] = rest;
  const index = typeof following === 'object' && 'index' in following ? following.index : undefined;
  return inSequence(
    elementsNamed(model, from.type, name).map((element) => {
      const position = { type: element.type, element };
      const next = compileSteps(model, index === undefined ? rest : afterIndex, position, visitorFor);
      if (next === undefined) return undefined;
      return index === undefined ? eachItem(element.name, next) : itemAt(element.name, index, next);
    }),
  );
}

/** One element, or the typed forms of a choice. */
export function elementsNamed(model: FhirModel, type: string, name: string): readonly ElementDefinition[] {
  const elements = model.typeDefinition(type)?.elements;
  const single = elements?.get(name);
  if (single !== undefined) return [single];
  return [...(elements?.values() ?? [])].filter((element) => element.choiceOf === name);
}

function eachItem<Context>(name: string, next: Visitor<Context>): Visitor<Context> {
  return (value, context) => {
    if (!isJsonObject(value)) return;
    const child = value[name];
    // Most elements of most resources are absent.
    if (child === undefined || child === null) return;
    if (!Array.isArray(child)) {
      next(child, context);
      return;
    }
    for (const item of child as readonly unknown[]) if (item !== null) next(item, context);
  };
}

function itemAt<Context>(name: string, index: number, next: Visitor<Context>): Visitor<Context> {
  return (value, context) => {
    const child = isJsonObject(value) ? value[name] : undefined;
    const item: unknown = Array.isArray(child) ? child[index] : index === 0 ? child : undefined;
    if (item !== undefined && item !== null) next(item, context);
  };
}

function compileOfType<Context>(
  model: FhirModel,
  type: string,
  from: Position,
  next: Visitor<Context>,
): Visitor<Context> {
  if (model.isA(from.type, type)) return next;
  return (value, context) => {
    const resourceType = isJsonObject(value) ? value.resourceType : undefined;
    if (typeof resourceType === 'string' && model.isA(resourceType, type)) next(value, context);
  };
}

function compileResolvesTo<Context>(type: string, next: Visitor<Context>): Visitor<Context> {
  return (value, context) => {
    const known = referenceStub(value)?.resourceType ?? typeInside(value, context);
    if (known === type) next(value, context);
  };
}

/** The type of the contained resource that a reference points to. */
function typeInside(value: unknown, context: unknown): string | undefined {
  if (!isJsonObject(value) || typeof value['reference'] !== 'string') return undefined;
  const container = (context as Partial<ReferenceContext> | undefined)?.containerOf?.(value);
  return container?.typeInside(value['reference']);
}

function compileEquals<Context>(
  path: readonly string[],
  expected: string | boolean,
  next: Visitor<Context>,
): Visitor<Context> {
  return (value, context) => {
    if (singleAt(value, path) === expected) next(value, context);
  };
}

/** The single value at the end of the path; undefined if there are none or several. */
function singleAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isJsonObject(current)) return undefined;
    const child = current[name];
    current = Array.isArray(child) && child.length === 1 ? (child[0] as unknown) : child;
  }
  return current;
}

/** A single visitor is called without a loop. */
function inSequence<Context>(visitors: readonly (Visitor<Context> | undefined)[]): Visitor<Context> | undefined {
  const present = visitors.filter((visitor) => visitor !== undefined);
  if (present.length <= 1) return present[0];
  return (value, context) => {
    for (const visitor of present) visitor(value, context);
  };
}
