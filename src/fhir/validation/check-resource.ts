import type { FhirModel } from '../model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import { expectedCodes } from './primitives.js';
import { checkContainedResources } from './references.js';
import { type Findings, kindOf, namedStep, type PrimitiveProblem } from './findings.js';
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
  const walk: Walk = {
    model,
    findings,
    scope: containerScope(resource),
    conditionalReferences: conditionalReferences || holdsRequests(resource),
  };
  checkObject(resource, typePlan(model, resource.resourceType as string), walk);
  checkContainedResources(resource, walk);
}

function holdsRequests({ resourceType, type }: JsonObject): boolean {
  return resourceType === 'Bundle' && (type === 'transaction' || type === 'batch');
}

/** @param hasValue the object is the sibling (`_name`) of a primitive that has a value */
function checkObject(object: JsonObject, plan: TypePlan, walk: Walk, hasValue = false): void {
  const { findings } = walk;
  let present = 0;
  let repeated = 0;
  let hasContent = plan.isResource;
  for (const name in object) {
    const value = object[name];
    if (value === undefined) continue;
    if (name !== 'id' || hasValue) hasContent = true;
    const element = plan.elements.get(name);
    const primitive = element === undefined ? plan.siblings.get(name) : undefined;
    const bit = (element ?? primitive)?.bit ?? 0;
    repeated |= present & bit;
    present |= bit;
    if (element !== undefined) checkElement(element, value, object, walk);
    else if (primitive !== undefined) checkSibling(primitive, value, object[primitive.name], walk);
    else if (name !== 'resourceType' || !plan.isResource) reportUnknown(name, plan, findings);
    if (findings.full) return;
  }
  if (!hasContent) return findings.error('invariant', 'an element must have a value or children (ele-1)');
  if ((plan.required & ~present) !== 0) reportMissing(plan, present, findings);
  if (repeated !== 0) reportRepeated(object, plan, repeated, findings);
  for (const { key, problem, holds } of plan.invariants ?? []) {
    if (!holds(object)) findings.error('invariant', `${plan.name}: ${problem} (${key})`);
  }
}

function checkElement(element: ElementPlan, value: unknown, owner: JsonObject, walk: Walk): void {
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
    if (items[index] === null && element.check !== undefined && hasSiblingAt(element, index, owner)) continue;
    findings.enter(index);
    checkValue(element, items[index], walk);
    findings.leave();
  }
}

/** In a list of primitives, null is a placeholder for an item that has only a sibling. */
function hasSiblingAt(element: ElementPlan, index: number, owner: JsonObject): boolean {
  const sibling = owner[`_${element.name}`];
  return Array.isArray(sibling) && isJsonObject(sibling[index]);
}

function checkValue(element: ElementPlan, value: unknown, walk: Walk): void {
  if (element.check !== undefined) return checkPrimitive(element, value, element.check(value), walk);
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
function checkPrimitive(element: ElementPlan, value: unknown, problem: PrimitiveProblem | undefined, walk: Walk): void {
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

function hasKnownType(
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
