import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  getNamedType,
  Kind,
  visit,
  type DocumentNode,
  type FieldNode,
  type InlineFragmentNode,
  type SelectionNode,
  type SelectionSetNode,
} from '../graphql-js.js';
import { TypeInfo, visitWithTypeInfo } from '../graphql-js-validation.js';
import { RESOURCE } from '../schema/fields.js';
import type { FhirSchema } from '../schema/schema.js';

/**
 * A document in which `resource(type: X) { … }` selects from X, as in FHIR GraphQL: the fields directly on `resource`
 * are moved into a fragment on that type. Otherwise only fields shared by all possible types would be valid. See
 * https://hl7.org/fhir/R4/graphql.html#references.
 *
 * Types given by a variable are known too late, so those fields are unchanged.
 *
 * @returns the same document if no field names a type
 */
export function withTypedReferences(document: DocumentNode, schema: FhirSchema): DocumentNode {
  const { model } = schema;
  const sets = document.definitions.flatMap((definition) =>
    'selectionSet' in definition ? (definition.selectionSet ?? []) : [],
  );
  // Most documents name no type, and a type-aware walk takes as long as a validation rule.
  if (!sets.some((set) => hasTypedReference(model, set))) return document;
  const types = new TypeInfo(schema);
  return visit(
    document,
    visitWithTypeInfo(types, {
      Field(node) {
        const type = typeAskedFor(model, node);
        if (type === undefined || node.selectionSet === undefined) return undefined;
        if (getNamedType(types.getType())?.name !== RESOURCE) return undefined;
        return { ...node, selectionSet: within(type, node.selectionSet) };
      },
    }),
  );
}

function hasTypedReference(model: FhirModel, set: SelectionSetNode): boolean {
  return set.selections.some(
    (selection) =>
      (selection.kind === Kind.FIELD && typeAskedFor(model, selection) !== undefined) ||
      (selection.kind !== Kind.FRAGMENT_SPREAD &&
        selection.selectionSet !== undefined &&
        hasTypedReference(model, selection.selectionSet)),
  );
}

/** The resource type in `resource(type: X)`; undefined for any other field, and for an unknown type. */
function typeAskedFor(model: FhirModel, node: FieldNode): string | undefined {
  if (node.name.value !== 'resource') return undefined;
  const value = node.arguments?.find(({ name }) => name.value === 'type')?.value;
  if (value?.kind !== Kind.ENUM && value?.kind !== Kind.STRING) return undefined;
  return model.isResourceType(value.value) ? value.value : undefined;
}

/** Moves each run of fields into a fragment on the type. Other fragments have their own type. */
function within(type: string, set: SelectionSetNode): SelectionSetNode {
  const selections: SelectionNode[] = [];
  let run: FieldNode[] = [];
  const close = (): void => {
    if (run.length > 0) selections.push(fragmentOn(type, run));
    run = [];
  };
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      run.push(selection);
      continue;
    }
    close();
    const untyped = selection.kind === Kind.INLINE_FRAGMENT && selection.typeCondition === undefined;
    selections.push(untyped ? { ...selection, selectionSet: within(type, selection.selectionSet) } : selection);
  }
  close();
  return { ...set, selections };
}

function fragmentOn(type: string, selections: readonly FieldNode[]): InlineFragmentNode {
  return {
    kind: Kind.INLINE_FRAGMENT,
    typeCondition: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type } },
    directives: [],
    selectionSet: { kind: Kind.SELECTION_SET, selections },
  };
}
