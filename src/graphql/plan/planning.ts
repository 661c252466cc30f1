import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { FieldNode, SelectionSetNode } from '../graphql-js.js';
import type { AnyTypeSelection, Selection } from './plan.js';

/** The field nodes that share a response key. */
export type FieldNodes = readonly [FieldNode, ...FieldNode[]];

/** The position of a selection in the operation. */
export interface Scope {
  readonly depth: number;
  /** Response keys from the root; see {@link AnyTypeSelection.path}. */
  readonly path: string;
  /** Resource types that the enclosing reference or canonical may point to; undefined: any. */
  readonly targets: readonly string[] | undefined;
}

/** The services that planning a field needs from the operation's planner. */
export interface Planning {
  readonly model: FhirModel;
  /** Names of the variables that the operation declares. */
  readonly variables: readonly string[];
  /** The fragments of the document as text. */
  printFragments(): readonly string[];
  /** The fields selected on a type, by response key. */
  collect(type: string, sets: readonly SelectionSetNode[]): ReadonlyMap<string, FieldNodes>;
  /** @throws LimitError `depth`, `fields` */
  select(type: string, sets: readonly SelectionSetNode[], scope: Scope): Selection;
  /** @throws LimitError `depth`, `fields` */
  selectAnyType(sets: readonly SelectionSetNode[], scope: Scope): AnyTypeSelection;
}

/** One level down, below a field with this key. */
export function below(scope: Scope, key: string): Scope {
  return { ...scope, depth: scope.depth + 1, path: scope.path === '' ? key : `${scope.path}.${key}` };
}
