import { Kind, type FieldNode, type FragmentDefinitionNode, type SelectionSetNode } from '../graphql-js.js';
import { type Argument, argumentsOfNode } from './arguments.js';

/**
 * The directives `@flatten`, `@first`, `@singleton` and `@slice` of a field. See
 * https://hl7.org/fhir/R4/graphql.html#flattening.
 */
export interface Shaping {
  readonly flatten: boolean;
  readonly first: boolean;
  readonly singleton: boolean;
  /** FHIRPath per item, or `$index`. */
  readonly slice: Argument | undefined;
}

const SHAPING_DIRECTIVES: ReadonlySet<string> = new Set(['flatten', 'first', 'singleton', 'slice']);

/** An alias that cannot be set by assignment. */
export const UNASSIGNABLE = '__proto__';

/** True for a field with one of the directives that reshape the response. */
export function isShaped(node: FieldNode): boolean {
  return node.directives?.some(({ name }) => SHAPING_DIRECTIVES.has(name.value)) === true;
}

/** @returns the reshaping directives of a field; undefined if it has none */
export function shapingOf(node: FieldNode): Shaping | undefined {
  if (!isShaped(node)) return undefined;
  const has = (name: string) => node.directives!.some((directive) => directive.name.value === name);
  const slice = node.directives!.find(({ name }) => name.value === 'slice');
  const path = slice === undefined ? undefined : [...argumentsOfNode(slice).values()][0];
  return { flatten: has('flatten'), first: has('first'), singleton: has('singleton'), slice: path };
}

/**
 * True if a selection set has, at any depth including fragments, a field that reshapes the response or a key that only
 * reshaping can write.
 *
 * The result depends on the document only, not on the types found in the data.
 */
export function hasShapedField(
  root: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): boolean {
  const opened = new Set<string>();
  const search = (set: SelectionSetNode): boolean =>
    set.selections.some((selection) => {
      if (selection.kind !== Kind.FRAGMENT_SPREAD) {
        if (selection.kind === Kind.FIELD && (isShaped(selection) || selection.alias?.value === UNASSIGNABLE))
          return true;
        return selection.selectionSet !== undefined && search(selection.selectionSet);
      }
      const fragment = fragments.get(selection.name.value);
      if (fragment === undefined || opened.has(selection.name.value)) return false;
      opened.add(selection.name.value);
      return search(fragment.selectionSet);
    });
  return search(root);
}
