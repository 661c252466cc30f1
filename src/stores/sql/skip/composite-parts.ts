import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { CompositeCriteria, MatchCriteria } from '../../../search/criteria/criteria.js';

/**
 * What a resource that meets the criteria of a composite has by itself: for each component a value of a plain parameter that
 * passes its test. Undefined for components of which no plain parameter has all values.
 */
export function partsOfComposite(
  { parameter, tests }: CompositeCriteria,
  model: FhirModel,
  type: string,
): readonly (MatchCriteria | undefined)[] {
  const { path: roots, components = [] } = model.searchParameter(type, parameter) ?? {};
  return tests.map((test, index) => {
    const component = components[index];
    const plain = component && model.searchParameter(type, component.code);
    if (roots === undefined || component?.path === undefined || plain?.path === undefined) return undefined;
    if (plain.type !== component.type || plain.words === true) return undefined;
    const known = new Set(plain.path.map((path) => JSON.stringify(path)));
    const needed = roots.flatMap((root) => component.path!.map((path) => JSON.stringify([...root, ...path])));
    return needed.every((path) => known.has(path)) ? { kind: 'match', parameter: plain.code, test } : undefined;
  });
}
