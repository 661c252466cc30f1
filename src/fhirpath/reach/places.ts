import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { getOrCreate } from '../../platform/collections.js';

/**
 * A place in a resource at which an expression may find values.
 *
 * ```text
 * Patient.name.given                               path name.given             type string
 * Bundle.entry.resource.ofType(Patient).birthDate  path entry.resource.birthDate  within [{ depth: 2, type: Patient }]
 * ```
 */
export interface Place {
  /** JSON names from the resource; empty for the resource itself. */
  readonly path: readonly string[];
  /** FHIR type: `Resource` for a resource of any type, {@link BELOW} for anything inside the path. */
  readonly type: string;
  /** The resources inside the resource that the path leads into, with the length of the path to each. */
  readonly within: readonly { readonly depth: number; readonly type: string }[];
}

/** Represents everything at or inside a path that is already read whole. */
export const BELOW = '*';

/** The elements of a resource on which the value of an expression depends. */
export interface ElementsRead {
  /** Paths in JSON names; everything inside is read, too. The empty path is the whole resource. */
  readonly paths: readonly string[];
  /** The same of the resources inside: paths by type, for any type by `Resource`. */
  readonly inside: ReadonlyMap<string, readonly string[]>;
}

/** Collects {@link ElementsRead}. */
export class Reach {
  readonly #paths = new Set<string>();
  readonly #inside = new Map<string, Set<string>>();

  constructor(private readonly model: FhirModel) {}

  /** Everything at and inside the place. */
  read({ path, type, within }: Place): void {
    this.#note(path, within);
    if (canHoldResources(this.model, type)) this.#noteInside('Resource', '');
  }

  /**
   * Whether there is a value, and how many. An object of which everything is hidden is removed, so all inside it counts;
   * a resource stays.
   */
  touch({ path, type, within }: Place): void {
    const isResource = path.length === (within.at(-1)?.depth ?? 0);
    if (!isResource || type === BELOW) this.#note(path, within);
    else if (path.length > 0) this.#note([...path, 'resourceType'], within.slice(0, -1));
  }

  get elements(): ElementsRead {
    const inside = [...this.#inside].map(([type, paths]): [string, string[]] => [type, [...paths]]);
    return { paths: [...this.#paths], inside: new Map(inside) };
  }

  #note(path: readonly string[], within: Place['within']): void {
    this.#paths.add(path.join('.'));
    for (const { depth, type } of within) this.#noteInside(type, path.slice(depth).join('.'));
  }

  #noteInside(type: string, path: string): void {
    getOrCreate(this.#inside, type, () => new Set<string>()).add(path);
  }
}

/** A resource of the type, as the place from which expressions start. */
export function rootPlace(type: string): Place {
  return { path: [], type, within: [] };
}

/** True for the types of any resource. */
export function isAnyResource(type: string): boolean {
  return type === 'Resource' || type === 'DomainResource';
}

/** The places that a name leads to: an element, or each typed form of a choice. */
export function placesNamed(model: FhirModel, from: Place, name: string): readonly Place[] {
  return elementsNamed(model, from.type, name).map(([json, type]) => {
    const path = [...from.path, json];
    if (!isAnyResource(type) && !model.isResourceType(type)) return { path, type, within: from.within };
    // Only a test in the expression decides the type of the data.
    return { path, type: 'Resource', within: [...from.within, { depth: path.length, type: 'Resource' }] };
  });
}

/**
 * The place as seen after a test for a type; undefined if no value at it has the type.
 *
 * Only resources are distinguished: their types are part of the data.
 */
export function ofType(model: FhirModel, place: Place, type: string): Place | undefined {
  if (!model.isResourceType(type) || type === place.type) return place;
  if (isAnyResource(place.type)) {
    const { path, within } = place;
    const last = within.at(-1);
    return { path, type, within: last?.depth === path.length ? [...within.slice(0, -1), { ...last, type }] : within };
  }
  return model.isResourceType(place.type) ? undefined : place;
}

/**
 * The elements that a name means in a type, as JSON names with their types: one element, or the typed forms of a choice
 * (`value` or `value[x]`).
 * A resource of any type has the elements of all types.
 */
export function elementsNamed(
  model: FhirModel,
  type: string,
  name: string,
): readonly (readonly [name: string, type: string])[] {
  if (isAnyResource(type)) return elementsOfAny(model, name);
  const elements = model.typeDefinition(type)?.elements;
  const single = elements?.get(name);
  if (single !== undefined) return [[name, single.type]];
  const base = name.replace(/\[x\]$/, '');
  return [...(elements?.values() ?? [])]
    .filter(({ choiceOf }) => choiceOf === base)
    .map((element) => [element.name, element.type]);
}

function elementsOfAny(model: FhirModel, name: string): readonly (readonly [name: string, type: string])[] {
  const known = ANY_RESOURCE(model).get(name);
  if (known !== undefined) return known;
  const found = new Map<string, readonly [name: string, type: string]>();
  for (const type of model.resourceTypes) {
    for (const element of elementsNamed(model, type, name)) found.set(element.join(' '), element);
  }
  const elements = [...found.values()];
  // Unknown names are not cached, so the cache is bounded.
  if (elements.length > 0) ANY_RESOURCE(model).set(name, elements);
  return elements;
}

const ANY_RESOURCE = perModel(() => new Map<string, readonly (readonly [name: string, type: string])[]>());

/** Whether a value of the type can have a resource inside. */
function canHoldResources(model: FhirModel, type: string): boolean {
  return getOrCreate(HOLDERS(model), type, () => {
    const reached = new Set([type]);
    for (const one of reached) {
      if (isAnyResource(one) || (one !== type && model.isResourceType(one))) return true;
      for (const element of model.typeDefinition(one)?.elements.values() ?? []) reached.add(element.type);
    }
    return false;
  });
}

const HOLDERS = perModel(() => new Map<string, boolean>());
