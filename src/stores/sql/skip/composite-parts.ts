import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { PathExpression } from '../../../fhir/model/definition-types.js';
import type { CompositeCriteria, MatchCriteria } from '../../../search/criteria/criteria.js';

/** Criteria on plain parameters, for the groups of values in one place of a resource. */
export interface CompositeWay {
  /** One per component; undefined if no plain parameter has all of its values in that place. */
  readonly parts: readonly (MatchCriteria | undefined)[];
  /**
   * True if every resource that meets all parts is a match. The resource itself is then the only group, and the plain
   * parameters have no other values than the components.
   */
  readonly suffices: boolean;
}

/**
 * Finds the criteria on plain parameters that every match of a composite also meets.
 *
 * @returns one way per place where the groups of values can be: every match meets all parts of one way
 */
export function waysOfComposite(
  { parameter, tests }: CompositeCriteria,
  model: FhirModel,
  type: string,
): readonly CompositeWay[] {
  const { path: roots = [], components = [] } = model.searchParameter(type, parameter) ?? {};
  const plain = [...model.searchParameters(type).values()].filter(({ components, words }) => !components && !words);
  const partOf = (root: PathExpression[number], place: number): Part | undefined => {
    const { type: kind, path } = components[place] ?? {};
    const needed = path?.map((one) => JSON.stringify([...root, ...one]));
    const having = plain.filter((one) => {
      if (one.type !== kind || one.path === undefined || needed === undefined) return false;
      const known = new Set(one.path.map((steps) => JSON.stringify(steps)));
      return needed.every((steps) => known.has(steps));
    });
    const [first] = having.sort((a, b) => a.path!.length - b.path!.length);
    if (first === undefined) return undefined;
    const criteria: MatchCriteria = { kind: 'match', parameter: first.code, test: tests[place]! };
    return { criteria, hasOthers: first.path!.length > path!.length };
  };
  return roots.map((root) => {
    const parts = tests.map((_, place) => partOf(root, place));
    return {
      parts: parts.map((part) => part?.criteria),
      suffices: root.length === 0 && parts.every((part) => part?.hasOthers === false),
    };
  });
}

interface Part {
  readonly criteria: MatchCriteria;
  /** The plain parameter has values that the component does not have. */
  readonly hasOthers: boolean;
}
