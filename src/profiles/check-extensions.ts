import type { FhirModel } from '../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { checkProfile } from './check-element.js';
import { compilingProfile } from './compile-profile.js';
import { definitionsByUrl } from './definitions-by-url.js';
import type { ElementItem } from './element-items.js';
import type { ProfileWalk } from './profile-walk.js';
import { objectsOf } from './value-set-codes.js';

/** The place of an extension. */
interface ExtensionPlace {
  /** The type that has it, `HumanName`. */
  readonly type: string;
  /** The element that has it, `Patient.name`. */
  readonly path: string;
  /** The url of the extension around it. */
  readonly outer: string | undefined;
}

/**
 * Checks every extension with a known definition in a resource: its content, and its place.
 * Contained resources included; resources in Bundles are resources of their own.
 */
export function* checkExtensions(resource: JsonObject, walk: ProfileWalk): Generator<void> {
  // The walk takes as long as all other checks of a large resource.
  if (walk.model.profiles.length === 0) return;
  const type = String(resource['resourceType']);
  yield* visit(
    { value: resource, sibling: undefined, type, isChoice: false, steps: [] },
    { type, path: type, outer: undefined },
    walk,
  );
}

/** @param extended where it is an extension itself */
function* visit(
  item: ElementItem,
  place: ExtensionPlace,
  walk: ProfileWalk,
  extended?: ExtensionPlace,
): Generator<void> {
  if (extended !== undefined) yield* checkExtension(item, extended, walk);
  if (walk.isSpent()) return;
  for (const object of [item.value, item.sibling]) {
    if (!isJsonObject(object)) continue;
    for (const name in object) {
      const value = object[name];
      if (typeof value !== 'object' || value === null) continue;
      const plain = name.startsWith('_') ? name.slice(1) : name;
      const element = walk.model.typeDefinition(place.type)?.elements.get(plain);
      const type = element?.type ?? (plain === 'extension' ? 'Extension' : '');
      if (type === 'Resource' && plain !== 'contained') continue;
      const step = element?.choiceOf === undefined ? plain : `${element.choiceOf}.ofType(${element.type})`;
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      for (const [index, one] of items.entries()) {
        if (walk.isStepOver()) yield;
        if (!isJsonObject(one)) continue;
        const steps = Array.isArray(value) ? [step, index] : [step];
        walk.enter(steps);
        yield* visitObject(one, name.startsWith('_'), type, plain, place, walk);
        walk.leave(steps);
      }
    }
  }
}

function visitObject(
  value: JsonObject,
  isSibling: boolean,
  type: string,
  name: string,
  place: ExtensionPlace,
  walk: ProfileWalk,
): Generator<void> {
  const isResource = type === 'Resource' && typeof value['resourceType'] === 'string';
  const own = isResource ? String(value['resourceType']) : type;
  const item: ElementItem = { value, sibling: undefined, type: own, isChoice: false, steps: [] };
  const isExtension = type === 'Extension' && !isSibling;
  const outer = isExtension && typeof value['url'] === 'string' ? value['url'] : undefined;
  const inner = { type: own, path: isResource ? own : `${place.path}.${name}`, outer };
  return visit(item, inner, walk, isExtension ? place : undefined);
}

function* checkExtension(item: ElementItem, place: ExtensionPlace, walk: ProfileWalk): Generator<void> {
  const url = (item.value as JsonObject)['url'];
  if (typeof url !== 'string') return;
  const definition = definitionsByUrl(walk.model).profile(url);
  const rules = definition === undefined ? undefined : yield* compilingProfile(walk.model, url);
  if (definition === undefined || rules === undefined || rules.type !== 'Extension') return;
  const contexts = objectsOf(definition['context']);
  const found = contexts.map((context) => fits(walk.model, context, place));
  if (found.includes(undefined)) {
    walk.noteUnchecked([
      { profile: rules.url, element: 'Extension', reason: 'a context that is a FHIRPath expression' },
    ]);
  } else if (found.length > 0 && !found.includes(true)) {
    walk.findings.error('structure', 'this extension must not be used here, by its definition');
  }
  yield* checkProfile(rules, item, walk);
}

/** @returns undefined if it cannot be decided. See https://hl7.org/fhir/R4/defining-extensions.html#context. */
function fits(
  model: FhirModel,
  { type, expression }: JsonObject,
  { type: owner, path, outer }: ExtensionPlace,
): boolean | undefined {
  if (typeof expression !== 'string') return undefined;
  switch (type) {
    case 'element': {
      const isResource = model.typeDefinition(owner)?.kind === 'resource';
      if (expression === 'Element') return !isResource;
      // Below data types the path starts again: `HumanName.family`.
      const parts = path.split('.');
      const suffixes = parts.map((_, index) => parts.slice(index).join('.'));
      return (
        (owner !== '' && model.isA(owner, expression)) ||
        model.typeDefinition(owner)?.path === expression ||
        suffixes[0] === expression.replace('[x]', '') ||
        endsInType(model, parts, expression)
      );
    }
    case 'extension':
      return outer === expression || (outer !== undefined && expression.startsWith(`${outer}#`));
    default:
      return undefined;
  }
}

/** Whether an expression such as `HumanName.family` names the end of a path such as `Patient.name.family`. */
function endsInType(model: FhirModel, parts: readonly string[], expression: string): boolean {
  const [head, ...tail] = expression.split('.');
  if (head === undefined || tail.length === 0) return false;
  let type: string | undefined = parts[0];
  for (let index = 1; index <= parts.length; index += 1) {
    if (type !== undefined && model.isA(type, head) && parts.slice(index).join('.') === tail.join('.')) return true;
    const element: string | undefined =
      type === undefined ? undefined : model.typeDefinition(type)?.elements.get(parts[index] ?? '')?.type;
    type = element;
  }
  return false;
}
