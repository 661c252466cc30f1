import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { PathExpression } from '../../../fhir/model/definition-types.js';
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
  const { path: roots = [], components = [] } = model.searchParameter(type, parameter) ?? {};
  const plain = [...model.searchParameters(type).values()].filter(({ components, words }) => !components && !words);
  const partOf = (root: PathExpression[number], place: number): MatchCriteria | undefined => {
    const { type: kind, path } = components[place] ?? {};
    const needed = path?.map((one) => JSON.stringify([...root, ...one]));
    const having = plain.filter((one) => {
      if (one.type !== kind || one.path === undefined || needed === undefined) return false;
      const known = new Set(one.path.map((steps) => JSON.stringify(steps)));
      return needed.every((steps) => known.has(steps));
    });
    const [first] = having.sort((a, b) => a.path!.length - b.path!.length);
    return first && { kind: 'match', parameter: first.code, test: tests[place]! };
  };
  return roots.map((root) => tests.map((_, place) => partOf(root, place)));
}
