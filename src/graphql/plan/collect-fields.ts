import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
} from '../graphql-js.js';
import { RESOURCE } from '../schema/fields.js';
import { isShaped, UNASSIGNABLE } from './shaping.js';

/** The parts of a document needed for planning. */
export interface DocumentParts {
  readonly model: FhirModel;
  /**
   * Whether fields with the same key are merged, as in GraphQL, or (dialect `hl7`) kept apart and collated in the
   * response.
   */
  readonly merge: boolean;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** The variables in `@skip` and `@include` that are true. */
  readonly conditions: ReadonlySet<string>;
}

export function fragmentsOf(document: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  return fragments;
}

/**
 * The fields selected for an object of one type, by response key, in the order of the response: fragments that apply
 * are opened, equal keys are put together. See https://spec.graphql.org/October2021/#sec-Field-Collection.
 *
 * @param count called for every selection looked at; it may throw
 */
export function collectFields(
  type: string,
  selectionSets: readonly SelectionSetNode[],
  parts: DocumentParts,
  count: () => void,
): ReadonlyMap<string, readonly [FieldNode, ...FieldNode[]]> {
  const collected = new Map<string, [FieldNode, ...FieldNode[]]>();
  const opened = new Set<string>();
  for (const set of selectionSets) collectInto(collected, type, set, parts, opened, count);
  return collected;
}

/** The selection sets of fields that share a response key. */
export function selectionSetsOf(nodes: readonly FieldNode[]): readonly SelectionSetNode[] {
  return nodes.flatMap((node) => node.selectionSet ?? []);
}

/** The resource types named by fragments inside selections on any type, at any depth. */
export function typesNamedIn(sets: readonly SelectionSetNode[], parts: DocumentParts): ReadonlySet<string> {
  const types = new Set<string>();
  const opened = new Set<string>();
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) continue;
      const spread = selection.kind === Kind.FRAGMENT_SPREAD ? selection.name.value : undefined;
      if (spread !== undefined && opened.has(spread)) continue;
      if (spread !== undefined) opened.add(spread);
      const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : parts.fragments.get(selection.name.value);
      if (fragment === undefined) continue;
      const type = fragment.typeCondition?.name.value;
      if (type !== undefined && parts.model.isResourceType(type)) types.add(type);
      visit(fragment.selectionSet);
    }
  };
  sets.forEach(visit);
  return types;
}

function collectInto(
  collected: Map<string, [FieldNode, ...FieldNode[]]>,
  type: string,
  set: SelectionSetNode,
  parts: DocumentParts,
  opened: Set<string>,
  count: () => void,
): void {
  for (const selection of set.selections) {
    count();
    if (!isIncluded(selection.directives, parts.conditions)) continue;
    if (selection.kind === Kind.FIELD) {
      const key = keyOf(selection);
      const nodes = collected.get(key);
      if (nodes === undefined) collected.set(key, [selection]);
      else if (parts.merge && !isShaped(selection) && !isShaped(nodes[0])) nodes.push(selection);
      else collected.set(numberedKey(key, collected), [selection]);
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      if (applies(parts.model, selection.typeCondition?.name.value, type)) {
        collectInto(collected, type, selection.selectionSet, parts, opened, count);
      }
    } else {
      const name = selection.name.value;
      const fragment = parts.fragments.get(name);
      if (fragment === undefined || opened.has(name) || !applies(parts.model, fragment.typeCondition.name.value, type))
        continue;
      opened.add(name);
      collectInto(collected, type, fragment.selectionSet, parts, opened, count);
    }
  }
}

/** Marks a response key that cannot be set by assignment. */
function keyOf({ alias, name }: FieldNode): string {
  const key = alias?.value ?? name.value;
  return key === UNASSIGNABLE ? `${key}#` : key;
}

/**
 * A unique key for a field whose response key is taken; `#` never occurs in GraphQL names.
 *
 * Counting per key would take quadratic time for a key repeated thousands of times.
 */
function numberedKey(key: string, collected: ReadonlyMap<string, unknown>): string {
  return `${key}#${collected.size}`;
}

/** The response key of a field whose internal key may be numbered or marked. */
export function responseKey(key: string): string {
  const mark = key.indexOf('#');
  return mark < 0 ? key : key.slice(0, mark);
}

/** Sets a response key of an object. Unlike assignment it also creates a property for the alias `__proto__`. */
export function putUnderKey(out: { [key: string]: unknown }, key: string, value: unknown): void {
  if (key === UNASSIGNABLE) {
    Object.defineProperty(out, key, { value, enumerable: true, writable: true, configurable: true });
  } else out[key] = value;
}

function applies(model: FhirModel, condition: string | undefined, type: string): boolean {
  return condition === undefined || condition === type || (condition === RESOURCE && model.isResourceType(type));
}

function isIncluded(directives: FieldNode['directives'], conditions: ReadonlySet<string>): boolean {
  for (const directive of directives ?? []) {
    const name = directive.name.value;
    if (name !== 'skip' && name !== 'include') continue;
    const value = directive.arguments?.find((argument) => argument.name.value === 'if')?.value;
    const truth =
      value?.kind === Kind.VARIABLE ? conditions.has(value.name.value) : value?.kind === Kind.BOOLEAN && value.value;
    if (truth === (name === 'skip')) return false;
  }
  return true;
}
