import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { PathExpression, SearchComponentDefinition } from '../../../fhir/model/definition-types.js';
import { perModel } from '../../../fhir/model/per-model.js';
import { getOrCreate } from '../../../platform/maps.js';
import type { CompositeCriteria, MatchCriteria } from '../../../search/criteria/criteria.js';

/** One criterion per component; undefined if no plain parameter has all of its values in that place. */
export type CompositeParts = readonly (MatchCriteria | undefined)[];

/**
 * Finds the criteria on plain parameters that every match of a composite also meets.
 *
 * @returns a list per place where the groups of values can be: every match meets all criteria of one list
 */
export function waysOfComposite(
  { parameter, tests }: CompositeCriteria,
  model: FhirModel,
  type: string,
): readonly CompositeParts[] {
  return plainWays(parameter, model, type).map((codes) =>
    codes.map((code, place) =>
      code === undefined ? undefined : { kind: 'match', parameter: code, test: tests[place]! },
    ),
  );
}

const KNOWN = perModel(() => new Map<string, readonly (readonly (string | undefined)[])[]>());

/** The same without tests: the plain parameter of each component. */
export function plainWays(
  composite: string,
  model: FhirModel,
  type: string,
): readonly (readonly (string | undefined)[])[] {
  return getOrCreate(KNOWN(model), `${type}.${composite}`, () => {
    const { path: roots = [], components = [] } = model.searchParameter(type, composite) ?? {};
    return roots.map((root) => components.map((component) => plainOf(root, component, model, type)));
  });
}

/** The plain parameter with the fewest paths that has all values of a component below a root. */
function plainOf(
  root: PathExpression[number],
  { type: kind, path }: SearchComponentDefinition,
  model: FhirModel,
  type: string,
): string | undefined {
  const needed = path?.map((one) => JSON.stringify([...root, ...one]));
  const having = [...model.searchParameters(type).values()].filter((one) => {
    if (one.components || one.words || one.type !== kind || one.path === undefined || needed === undefined)
      return false;
    const known = new Set(one.path.map((steps) => JSON.stringify(steps)));
    return needed.every((steps) => known.has(steps));
  });
  return having.sort((a, b) => a.path!.length - b.path!.length)[0]?.code;
}
