import type { SearchComponentDefinition, SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { type Position, reachedFrom } from './element-path.js';

/** The facts about the elements of a parameter that the parsing of searched values needs. */
export interface ValueTraits {
  /** Tokens over strings are kept without case: all values of the parameter, some of them, or none. */
  readonly strings: Share;
  /** Values that are names or addresses: a search can ask for words of several parts. */
  readonly names: Share;
  /** True if some values are canonicals, which may carry a version. */
  readonly canonicals: boolean;
  /** True if some values are Identifiers, which may have a type. */
  readonly identifiers: boolean;
  /** True if all values are contained resources: chains test these, and not copies that are stored by themselves. */
  readonly resources: boolean;
  /** True if all values are MIME types. */
  readonly mimeTypes: boolean;
  /** The systems of the bindings, if all values are codes that have one by their binding; see index-token.ts. */
  readonly boundTo: readonly string[];
}

/** How many values of a parameter are of some types. */
type Share = 'all' | 'some' | 'none';

/** @param type the resource type that the parameter is one of */
export function valueTraits(model: FhirModel, type: string, parameter: SearchParameterDefinition): ValueTraits {
  return known(model, parameter, () => parameter.path && reachedFrom(model, [type], parameter.path));
}

/** Like {@link valueTraits}, for a component of a composite parameter. */
export function componentTraits(
  model: FhirModel,
  type: string,
  { path }: SearchParameterDefinition,
  component: SearchComponentDefinition,
): ValueTraits {
  const types = (): readonly string[] =>
    (path === undefined ? [] : reachedFrom(model, [type], path)).map((one) => one.type);
  return known(model, component, () => component.path && reachedFrom(model, types(), component.path));
}

/** Definitions are made once per type and kept, and so are their traits. Our own definitions serve all models. */
const KNOWN = perModel(() => new WeakMap<object, ValueTraits>());

/** @param reach returns undefined if the positions depend on the data */
function known(model: FhirModel, definition: object, reach: () => readonly Position[] | undefined): ValueTraits {
  const byDefinition = KNOWN(model);
  let traits = byDefinition.get(definition);
  if (traits === undefined) byDefinition.set(definition, (traits = traitsOf(reach())));
  return traits;
}

function traitsOf(reached: readonly Position[] | undefined): ValueTraits {
  if (reached === undefined) return UNKNOWN;
  return {
    strings: shareOf(reached, STRING_TYPES),
    names: shareOf(reached, NAME_TYPES),
    canonicals: reached.some((one) => one.type === 'canonical'),
    identifiers: reached.some((one) => one.type === 'Identifier'),
    resources: reached.length > 0 && reached.every((one) => one.type === 'Resource'),
    mimeTypes: reached.length > 0 && reached.every(isMimeType),
    boundTo: systemsOf(reached),
  };
}

function shareOf(reached: readonly Position[], types: ReadonlySet<string>): Share {
  const count = reached.filter((one) => types.has(one.type)).length;
  return count === 0 ? 'none' : count === reached.length ? 'all' : 'some';
}

const UNKNOWN: ValueTraits = {
  strings: 'some',
  names: 'some',
  canonicals: false,
  identifiers: false,
  resources: false,
  mimeTypes: false,
  boundTo: [],
};

function systemsOf(reached: readonly Position[]): readonly string[] {
  const systems = reached.map(({ type, element }) => (type === 'code' ? element?.codeSystem : undefined));
  return systems.every((one) => one !== undefined) ? [...new Set(systems)] : [];
}

/** The types whose tokens ignore case. */
export const STRING_TYPES: ReadonlySet<string> = new Set(['string', 'markdown']);

/** The types of several parts, each a string: see index-values.ts. */
const NAME_TYPES: ReadonlySet<string> = new Set(['HumanName', 'Address']);

/** Elements bound to R4's value set of MIME types, by the names that they have in every type. */
const MIME_TYPES: ReadonlySet<string> = new Set(['contentType', 'payload', 'format', 'patchFormat']);

function isMimeType({ type, element }: Position): boolean {
  return type === 'code' && element !== undefined && MIME_TYPES.has(element.name);
}
