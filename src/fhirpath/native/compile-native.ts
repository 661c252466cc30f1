import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SyntaxNode } from '../syntax-tree.js';
import { BAIL, type Items } from './collection.js';
import { compileNode } from './compile-node.js';

/** The items of the result; undefined when the data need the library. */
export type NativeEvaluation = (input: unknown) => Items | undefined;

/**
 * Compiles the everyday forms of filters to plain functions: paths, `where`, `exists`, comparisons, logic.
 *
 * The answers are the library's. Only well-formed data are handled: whatever is out of the ordinary (an element of the
 * wrong JSON type, `_birthDate`-style siblings, several items where one is expected) is left to the library, errors
 * included.
 *
 * @param type FHIR type of the input.
 * @returns undefined for an expression that has other forms.
 */
export function compileNative(model: FhirModel, tree: SyntaxNode, type: string): NativeEvaluation | undefined {
  const evaluate = compileNode(tree, { model, type, isParameter: false })?.evaluate;
  if (evaluate === undefined) return undefined;
  return (input) => {
    try {
      return evaluate([input]);
    } catch (error) {
      if (error === BAIL) return undefined;
      throw error;
    }
  };
}
