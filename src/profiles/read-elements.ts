import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { objectsOf, textsOf } from './value-set-codes.js';

/** One step of an element's id: its name, and its slice. */
interface IdStep {
  readonly name: string;
  readonly slice: string | undefined;
}

/** An element of a StructureDefinition with its place. */
export interface ProfileElement {
  readonly definition: JsonObject;
  readonly steps: readonly IdStep[];
}

/** Most elements of one profile; the largest published ones have about 1,000. */
const MAX_ELEMENTS = 10_000;
/** Deepest element. */
const MAX_STEPS = 60;

/**
 * The elements of a StructureDefinition: of its snapshot, else of its differential.
 *
 * @returns undefined if it has neither
 */
export function readElements(
  profile: JsonObject,
): { readonly elements: readonly ProfileElement[]; readonly isSnapshot: boolean } | undefined {
  for (const form of ['snapshot', 'differential'] as const) {
    const part = profile[form];
    const definitions = isJsonObject(part) ? objectsOf(part['element']).slice(0, MAX_ELEMENTS) : [];
    if (definitions.length > 0) return { elements: withSteps(definitions), isSnapshot: form === 'snapshot' };
  }
  return undefined;
}

/** Slices are named by the ids. Where there are none, the elements after a slice belong to it. */
function withSteps(definitions: readonly JsonObject[]): readonly ProfileElement[] {
  const open = new Map<string, string>();
  return definitions.flatMap((definition) => {
    const { id, path, sliceName } = definition;
    if (typeof path !== 'string') return [];
    const names = path.split('.');
    if (names.length > MAX_STEPS) return [];
    const byId = typeof id === 'string' ? stepsOfId(id) : undefined;
    if (byId?.length === names.length) return [{ definition, steps: byId }];
    if (typeof sliceName === 'string') open.set(path, sliceName);
    else open.delete(path);
    const steps = names.map((name, index) => ({ name, slice: open.get(names.slice(0, index + 1).join('.')) }));
    return [{ definition, steps }];
  });
}

function stepsOfId(id: string): readonly IdStep[] {
  // Names of slices may contain dots in brackets only, which no published profile uses.
  return id.split('.').map((step) => {
    const [name, ...slice] = step.split(':');
    return { name: name!, slice: slice.length === 0 ? undefined : slice.join(':') };
  });
}

/** The value of a choice in a definition: `fixed` of `fixedUri`, `pattern` of `patternCoding`. */
export function choiceIn(definition: JsonObject, base: 'fixed' | 'pattern'): { readonly value: unknown } | undefined {
  for (const name in definition) {
    if (name.startsWith(base) && /^[A-Z]/.test(name.slice(base.length)) && definition[name] !== undefined) {
      return { value: definition[name] };
    }
  }
  return undefined;
}

/** The types of an element: `{ code, profile, targetProfile }`. */
export function typesIn(definition: JsonObject): readonly {
  readonly code: string;
  readonly profiles: readonly string[];
  readonly targetProfiles: readonly string[];
}[] {
  return objectsOf(definition['type']).flatMap(({ code, profile, targetProfile }) =>
    typeof code === 'string' ? [{ code, profiles: textsOf(profile), targetProfiles: textsOf(targetProfile) }] : [],
  );
}
