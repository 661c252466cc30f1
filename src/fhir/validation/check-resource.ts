import type { FhirModel } from '../model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import { expectedCodes } from './bindings.js';
import { checkContainedResources } from './contained.js';
import { type Findings, kindOf, namedStep } from './findings.js';
import type { PrimitiveProblem } from './primitive-problem.js';
import { type ElementPlan, type TypePlan, typePlan } from './type-plan.js';
import { containerScope, type Walk } from './walk.js';

/**
 * Checks a resource and everything in it against the definition of its type.
 *
 * Called for resources that are not contained in another: each opens its own scope for `#id`.
 *
 * @param resource plain JSON of bounded depth, of a known type; `findings` is positioned at it
 * @param conditionalReferences whether the resource is in a transaction or batch; default false
 */
export function checkResource(
  model: FhirModel,
  resource: JsonObject,
  findings: Findings,
  conditionalReferences = false,
): void {
  const walk = walkThrough(model, resource, findings, conditionalReferences);
  checkObject(resource, typePlan(model, resource.resourceType as string), walk);
  checkContainedResources(resource, walk);
}

/** The state of a walk at its start. */
export function walkThrough(
  model: FhirModel,
  resource: JsonObject,
  findings: Findings,
  conditionalReferences: boolean,
): Walk {
  return {
    model,
    findings,
    scope: containerScope(resource),
    conditionalReferences: conditionalReferences || holdsRequests(resource),
  };
}

function holdsRequests({ resourceType, type }: JsonObject): boolean {
  return resourceType === 'Bundle' && (type === 'transaction' || type === 'batch');
}

/** @param hasValue the object is the sibling (`_name`) of a primitive that has a value */
function checkObject(object: JsonObject, plan: TypePlan, walk: Walk, hasValue = false): void {
  const members = new Members(object, plan, walk, hasValue);
  for (const name in object) {
    members.check(name);
    if (walk.findings.full) return;
  }
  members.end();
}

/** The members of an object, checked one after the other. */
export class Members {
  #present = 0;
  #repeated = 0;
  #hasContent: boolean;
  readonly #object: JsonObject;
  readonly #plan: TypePlan;
  readonly #walk: Walk;
  readonly #hasValue: boolean;

  constructor(object: JsonObject, plan: TypePlan, walk: Walk, hasValue: boolean) {
    this.#object = object;
    this.#plan = plan;
    this.#walk = walk;
    this.#hasValue = hasValue;
    this.#hasContent = plan.isResource;
  }

  check(name: string): void {
    const object = this.#object;
    const plan = this.#plan;
    const value = object[name];
    if (value === undefined) return;
    const element = plan.elements.get(name);
    const primitive = element === undefined ? plan.siblings.get(name) : undefined;
    this.note(name, element ?? primitive);
    if (element !== undefined) checkElement(element, value, object, this.#walk);
    else if (primitive !== undefined) checkSibling(primitive, value, object[primitive.name], this.#walk);
    else if (name !== 'resourceType' || !plan.isResource) reportUnknown(name, plan, this.#walk.findings);
  }

  /** @param element undefined: the type has none of this name */
  note(name: string, element: ElementPlan | undefined): void {
    if (name !== 'id' || this.#hasValue) this.#hasContent = true;
    const bit = element?.bit ?? 0;
    this.#repeated |= this.#present & bit;
    this.#present |= bit;
  }

  /** The checks that need the whole object. */
  end(): void {
    const { findings } = this.#walk;
    const plan = this.#plan;
    if (!this.#hasContent) return findings.error('invariant', 'an element must have a value or children (ele-1)');
    if ((plan.required & ~this.#present) !== 0) reportMissing(plan, this.#present, findings);
    if (this.#repeated !== 0) reportRepeated(this.#object, plan, this.#repeated, findings);
    for (const { key, problem, holds } of plan.invariants ?? []) {
      if (!holds(this.#object)) findings.error('invariant', `${plan.name}: ${problem} (${key})`);
    }
  }
}

export function checkElement(element: ElementPlan, value: unknown, owner: JsonObject, walk: Walk): void {
  const { findings } = walk;
  findings.enter(element.step);
  if (!element.array) checkValue(element, value, walk);
  else if (Array.isArray(value)) checkItems(element, value, owner, walk);
  else findings.error('structure', `${element.name} repeats: an array is expected, not ${kindOf(value)}`);
  findings.leave();
}

function checkItems(element: ElementPlan, items: readonly unknown[], owner: JsonObject, walk: Walk): void {
  const { findings } = walk;
  if (items.length === 0) return findings.error('structure', `${element.name} must not be an empty array`);
  for (let index = 0; index < items.length && !findings.full; index++) {
    if (!isToBeChecked(element, items, index, owner)) continue;
    findings.enter(index);
    checkValue(element, items[index], walk);
    findings.leave();
  }
}

/** In a list of primitives, null is a placeholder for an item that has only a sibling. */
export function isToBeChecked(
  element: ElementPlan,
  items: readonly unknown[],
  index: number,
  owner: JsonObject,
): boolean {
  return items[index] !== null || element.check === undefined || !hasSiblingAt(element, index, owner);
}

function hasSiblingAt(element: ElementPlan, index: number, owner: JsonObject): boolean {
  const sibling = owner[`_${element.name}`];
  return Array.isArray(sibling) && isJsonObject(sibling[index]);
}

export function checkValue(element: ElementPlan, value: unknown, walk: Walk): void {
  if (element.check !== undefined) return endPrimitive(element, value, element.check(value), walk);
  if (!isJsonObject(value)) {
    return walk.findings.error(
      'structure',
      `${element.name} must be an object (${element.type}), not ${kindOf(value)}`,
    );
  }
  const plan = typePlan(walk.model, element.type);
  if (plan.isResource) return checkInnerResource(element, value, walk);
  checkObject(value, plan, walk);
  element.rule?.(value as never, walk);
}

/** @param problem the finding of the element's check */
export function endPrimitive(
  element: ElementPlan,
  value: unknown,
  problem: PrimitiveProblem | undefined,
  walk: Walk,
): void {
  if (problem !== undefined) {
    const [code, found] = typeof value === 'object' ? ['structure', `, not ${kindOf(value)}`] : [problem.code, ''];
    return walk.findings.error(code, `${element.name} must be ${problem.expectation}${found}`);
  }
  if (element.codes !== undefined && !element.codes.has(value as string)) {
    return walk.findings.error('code-invalid', `${element.name} must be ${expectedCodes(element.codes)}`);
  }
  element.rule?.(value as never, walk);
}

/** The `_name` member that carries id and extensions of a primitive. See https://hl7.org/fhir/R4/json.html#primitive. */
function checkSibling(element: ElementPlan, sibling: unknown, value: unknown, walk: Walk): void {
  const { findings } = walk;
  findings.enter(element.step);
  if (!element.array) checkSiblingValue(element, sibling, value, walk);
  else if (Array.isArray(sibling)) checkSiblingItems(element, sibling, value, walk);
  else findings.error('structure', `_${element.name} repeats: an array is expected, not ${kindOf(sibling)}`);
  findings.leave();
}

function checkSiblingItems(element: ElementPlan, items: readonly unknown[], values: unknown, walk: Walk): void {
  const { findings } = walk;
  const count = Array.isArray(values) ? values.length : items.length;
  if (items.length === 0) return findings.error('structure', `_${element.name} must not be an empty array`);
  if (items.length !== count) {
    findings.error('structure', `${element.name} and _${element.name} must be of one length, filled up with null`);
  }
  for (let index = 0; index < items.length && !findings.full; index++) {
    const value: unknown = Array.isArray(values) ? values[index] : undefined;
    // If both are null, the value has been reported.
    if (items[index] === null && value !== undefined) continue;
    findings.enter(index);
    checkSiblingValue(element, items[index], value, walk);
    findings.leave();
  }
}

function checkSiblingValue(element: ElementPlan, sibling: unknown, value: unknown, walk: Walk): void {
  const { findings } = walk;
  if (!isJsonObject(sibling)) {
    return findings.error(
      'structure',
      `_${element.name} must be an object with id or extension, not ${kindOf(sibling)}`,
    );
  }
  checkObject(sibling, typePlan(walk.model, 'Element'), walk, value !== undefined && value !== null);
}

function checkInnerResource(element: ElementPlan, resource: JsonObject, walk: Walk): void {
  if (!hasKnownType(resource, walk)) {
    return walk.findings.error('structure', `${element.name} must have the resourceType of a known resource`);
  }
  if (element.name !== 'contained')
    return checkResource(walk.model, resource, walk.findings, walk.conditionalReferences);
  const { scope } = walk;
  const { inside } = scope;
  scope.inside = resource;
  checkObject(resource, typePlan(walk.model, resource.resourceType), walk);
  scope.inside = inside;
}

export function hasKnownType(
  resource: JsonObject,
  { model }: Walk,
): resource is JsonObject & { readonly resourceType: string } {
  const { resourceType } = resource;
  return typeof resourceType === 'string' && model.isResourceType(resourceType);
}

function reportUnknown(name: string, plan: TypePlan, findings: Findings): void {
  const choice = plan.groups.find((group) => group.name === name);
  const hint = choice === undefined ? '' : `; a choice is named with its type, as in ${choice.members[0]}`;
  findings.error('structure', `${plan.name} has no element of this name${hint}`, namedStep(name));
}

function reportMissing(plan: TypePlan, present: number, findings: Findings): void {
  for (const group of plan.groups) {
    if (!group.required || (group.bit & present) !== 0) continue;
    findings.error('required', `${plan.name} must have ${group.title}`, group.name);
  }
}

function reportRepeated(object: JsonObject, plan: TypePlan, repeated: number, findings: Findings): void {
  for (const group of plan.groups) {
    if ((group.bit & repeated) === 0) continue;
    const found = group.members.filter((name) => object[name] !== undefined || object[`_${name}`] !== undefined);
    // A primitive and its sibling count once.
    if (found.length > 1)
      findings.error('structure', `only one ${group.title} is allowed, not ${found.join(', ')}`, group.name);
  }
}
