import type { SearchComponentDefinition, SearchParameterDefinition } from '../../../fhir/model/definition-types.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { perModel } from '../../../fhir/model/per-model.js';
import { getOrCreate } from '../../../platform/maps.js';
import { plainWays } from './composite-parts.js';

/** A component that has fewer values than the plain parameter of its part. */
export interface NarrowComponent {
  /** The component, as in an index entry: `code-value-quantity$1`. */
  readonly component: string;
  /** The plain parameter: `value-quantity`, which also has the values of SampledData. */
  readonly plain: string;
}

/**
 * The narrow components of a type. The skip index has the resources with a value of each. If such a resource has a single value of
 * the plain parameter, it is that of the component.
 *
 * Only composites of the resource itself count, since their plain parameters have no values of several groups. Tokens do not:
 * several of one code are a single value, whatever their systems.
 */
export function narrowComponents(model: FhirModel, type: string): readonly NarrowComponent[] {
  return [...narrowByValues(model, type).values()];
}

/**
 * For each way of a composite (see composite-parts.ts) what narrows its parts, so that they suffice: by the place of a part, and
 * undefined for those that need nothing. Undefined for a way whose parts do not suffice even so.
 */
export function narrowWays(
  composite: string,
  model: FhirModel,
  type: string,
): readonly (readonly (NarrowComponent | undefined)[] | undefined)[] {
  const known = narrowByValues(model, type);
  const { path: roots = [], components = [] } = model.searchParameter(type, composite) ?? {};
  return plainWays(composite, model, type).map((plain, way) => {
    if (roots[way]!.length > 0) return undefined;
    const narrow: (NarrowComponent | undefined)[] = [];
    for (const [place, parameter] of plain.entries()) {
      const component = components[place]!;
      if (parameter === undefined) return undefined;
      if (hasOthers(parameter, component, model, type)) {
        const one = known.get(valuesOf(component));
        if (one === undefined) return undefined;
        narrow[place] = one;
      }
    }
    return narrow;
  });
}

const KNOWN = perModel(() => new Map<string, ReadonlyMap<string, NarrowComponent>>());

/** By what says which values a component has: several composites have the same. */
function narrowByValues(model: FhirModel, type: string): ReadonlyMap<string, NarrowComponent> {
  return getOrCreate(KNOWN(model), type, () => {
    const found = new Map<string, NarrowComponent>();
    for (const parameter of model.searchParameters(type).values()) {
      for (const [values, narrow] of narrowIn(parameter, model, type)) {
        if (!found.has(values)) found.set(values, narrow);
      }
    }
    return found;
  });
}

function narrowIn(
  { code, path, components = [] }: SearchParameterDefinition,
  model: FhirModel,
  type: string,
): readonly (readonly [values: string, NarrowComponent])[] {
  if (path?.length !== 1 || path[0]!.length > 0) return [];
  const [way] = plainWays(code, model, type);
  return components.flatMap((one, place) => {
    const plain = way![place];
    if (plain === undefined || one.type === 'token' || !hasOthers(plain, one, model, type)) return [];
    return [[valuesOf(one), { component: `${code}$${place}`, plain }] as const];
  });
}

function hasOthers(plain: string, { path }: SearchComponentDefinition, model: FhirModel, type: string): boolean {
  return model.searchParameter(type, plain)!.path!.length > path!.length;
}

function valuesOf({ type, path }: SearchComponentDefinition): string {
  return JSON.stringify([type, path]);
}
