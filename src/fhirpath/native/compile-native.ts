import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { StepBudget } from '../step-budget.js';
import type { SyntaxNode } from '../syntax-tree.js';
import { BAIL, type Items } from './collection.js';
import { compileNode } from './compile-node.js';

/** Returns the items of the result; undefined if the data need fhirpath.js. */
type NativeEvaluation = (input: unknown, budget: StepBudget) => Items | undefined;

/**
 * Compiles common filters to plain functions: paths, `where`, `exists`, comparisons, logic.
 *
 * The results equal those of fhirpath.js. Only well-formed data are handled: everything unusual (an element of the
 * wrong JSON type, `_birthDate`-style siblings, several items where one is expected) is left to fhirpath.js, errors
 * included.
 *
 * @param type FHIR type of the input.
 * @returns undefined for other expressions.
 */
export function compileNative(model: FhirModel, tree: SyntaxNode, type: string): NativeEvaluation | undefined {
  const evaluate = compileNode(tree, { model, type, isParameter: false })?.evaluate;
  if (evaluate === undefined) return undefined;
  return (input, budget) => {
    try {
      return evaluate([input], budget);
    } catch (error) {
      if (error === BAIL) return undefined;
      throw error;
    }
  };
}
