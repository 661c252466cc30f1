import type { FhirModel } from '../model/fhir-model.js';
import { PARTS, sizeOf } from '../json/parts.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import { checkingBase64 } from './base64.js';
import {
  checkElement,
  checkValue,
  endPrimitive,
  hasKnownType,
  isToBeChecked,
  Members,
  walkThrough,
} from './check-resource.js';
import { checkContainedResources } from './contained.js';
import type { Findings } from './findings.js';
import { type ElementPlan, type TypePlan, typePlan } from './type-plan.js';
import type { Walk } from './walk.js';
import { checkingXhtml } from './xhtml.js';

/** `checkResource` in steps, one for each part that is short enough. */
export function* checkingResource(
  model: FhirModel,
  resource: JsonObject,
  findings: Findings,
  conditionalReferences = false,
): Generator<void> {
  const walk = walkThrough(model, resource, findings, conditionalReferences);
  yield* checkingObject(resource, typePlan(model, resource.resourceType as string), walk);
  checkContainedResources(resource, walk);
}

/**
 * Whether a value has fewer values than the bound. Strings count by their length, because a narrative is one long
 * string.
 */
export function isShort(value: unknown, bound: number): boolean {
  return sizeOf(value, bound, CHARACTERS_PER_VALUE) < bound;
}

const CHARACTERS_PER_VALUE = 4;

/** `checkObject` in steps. */
function* checkingObject(object: JsonObject, plan: TypePlan, walk: Walk): Generator<void> {
  const members = new Members(object, plan, walk, false);
  for (const name in object) {
    const element = isShort(object[name], PARTS.size) ? undefined : plan.elements.get(name);
    if (element === undefined) members.check(name);
    else {
      members.note(name, element);
      yield* checkingElement(element, object[name], object, walk);
    }
    yield;
    if (walk.findings.full) return;
  }
  members.end();
}

/** `checkElement` in steps, of a value longer than a part. */
function* checkingElement(element: ElementPlan, value: unknown, owner: JsonObject, walk: Walk): Generator<void> {
  const { findings } = walk;
  if (element.array !== Array.isArray(value)) return checkElement(element, value, owner, walk);
  findings.enter(element.step);
  if (!Array.isArray(value)) yield* checkingValue(element, value, walk);
  else {
    for (let index = 0; index < value.length && !findings.full; index++) {
      yield;
      if (!isToBeChecked(element, value, index, owner)) continue;
      findings.enter(index);
      if (isShort(value[index], PARTS.size)) checkValue(element, value[index], walk);
      else yield* checkingValue(element, value[index], walk);
      findings.leave();
    }
  }
  findings.leave();
}

/** `checkValue` in steps, of what is longer than a part. */
function* checkingValue(element: ElementPlan, value: unknown, walk: Walk): Generator<void> {
  const checking = typeof value === 'string' ? LONG_TEXTS.get(element.type) : undefined;
  if (checking !== undefined) return endPrimitive(element, value, yield* checking(value as string), walk);
  const plan = element.check === undefined && isJsonObject(value) ? typePlan(walk.model, element.type) : undefined;
  if (plan === undefined || (plan.isResource && !hasKnownType(value as JsonObject, walk))) {
    return checkValue(element, value, walk);
  }
  const object = value as JsonObject;
  if (!plan.isResource) {
    yield* checkingObject(object, plan, walk);
    element.rule?.(object as never, walk);
  } else if (element.name === 'contained') {
    const { scope } = walk;
    const { inside } = scope;
    scope.inside = object;
    yield* checkingObject(object, typePlan(walk.model, object.resourceType as string), walk);
    scope.inside = inside;
  } else yield* checkingResource(walk.model, object, walk.findings, walk.conditionalReferences);
}

/** Checks of the primitive types whose texts may be long. */
const LONG_TEXTS = new Map([
  ['base64Binary', checkingBase64],
  ['xhtml', checkingXhtml],
]);
