import {
  Kind,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from '../graphql-js.js';

/** Whether a document uses FHIRPath, so that the library must be loaded. */
export function usesFhirPath(definitions: readonly (OperationDefinitionNode | FragmentDefinitionNode)[]): boolean {
  return definitions.some(({ selectionSet }) => isUsedIn(selectionSet));
}

function isUsedIn({ selections }: SelectionSetNode): boolean {
  return selections.some((selection) => {
    if (selection.directives?.some(({ name }) => name.value === 'slice') === true) return true;
    if (selection.kind === Kind.FRAGMENT_SPREAD) return false;
    if (selection.kind === Kind.FIELD && selection.arguments?.some(({ name }) => name.value === 'fhirpath') === true) {
      return true;
    }
    return selection.selectionSet !== undefined && isUsedIn(selection.selectionSet);
  });
}
