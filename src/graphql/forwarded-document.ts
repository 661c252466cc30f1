import { getOrCreate } from '../platform/collections.js';
import { TypeInfo, visitWithTypeInfo } from './graphql-js-validation.js';
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  isInterfaceType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from './graphql-js.js';
import { TYPE_KEY } from './schema/fields.js';

/** An operation for the engine. */
export type ForwardedDocument = DocumentNode;

/**
 * The part of an operation that the engine answers: without the fields and types that a host merged into the schema,
 * and with the types of objects behind interfaces. One document object per operation, so that the engine's cache finds
 * it again.
 */
export function forwardedDocument(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: { readonly [name: string]: FragmentDefinitionNode },
): ForwardedDocument {
  return getOrCreate(FORWARDED, operation, () => makeDocument(schema, operation, fragments));
}

const FORWARDED = new WeakMap<OperationDefinitionNode, ForwardedDocument>();

function makeDocument(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: { readonly [name: string]: FragmentDefinitionNode },
): ForwardedDocument {
  const known = Object.values(fragments).filter(({ typeCondition }) => isKnown(schema, typeCondition.name.value));
  const names = new Set(known.map(({ name }) => name.value));
  const types = new TypeInfo(schema);
  const written: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...known] };
  const own = visit(
    written,
    visitWithTypeInfo(types, {
      Field: (node) => (isForeign(types, node) ? null : undefined),
      FragmentSpread: (node) => (names.has(node.name.value) ? undefined : null),
      InlineFragment: ({ typeCondition }) =>
        typeCondition === undefined || isKnown(schema, typeCondition.name.value) ? undefined : null,
      SelectionSet: {
        leave(node) {
          const isAbstract = isInterfaceType(types.getParentType());
          return isAbstract || node.selections.length === 0 ? withType(node, isAbstract) : undefined;
        },
      },
    }),
  );
  return withoutUnused(own);
}

function isKnown(schema: GraphQLSchema, name: string): boolean {
  return schema.getType(name) !== undefined;
}

/** A field of another schema, or introspection, which the server answers itself. */
function isForeign(types: TypeInfo, { name }: FieldNode): boolean {
  if (name.value === '__typename') return false;
  return types.getFieldDef() == null || name.value.startsWith('__');
}

function withType(set: SelectionSetNode, isAbstract: boolean): SelectionSetNode {
  const name = { kind: Kind.NAME, value: '__typename' } as const;
  const alias = isAbstract ? { alias: { kind: Kind.NAME, value: TYPE_KEY } as const } : {};
  return { ...set, selections: [...set.selections, { kind: Kind.FIELD, name, ...alias }] };
}

/** Fragments and variables that only other schemas used would be errors. */
function withoutUnused(document: DocumentNode): DocumentNode {
  const [operation, ...fragments] = document.definitions as readonly [
    OperationDefinitionNode,
    ...FragmentDefinitionNode[],
  ];
  const byName = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  const reached = new Set<FragmentDefinitionNode>();
  const variables = new Set<string>();
  const open: (OperationDefinitionNode | FragmentDefinitionNode)[] = [operation];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    visit(next, {
      VariableDefinition: () => false,
      Variable: ({ name }) => void variables.add(name.value),
      FragmentSpread({ name }) {
        const fragment = byName.get(name.value);
        if (fragment === undefined || reached.has(fragment)) return;
        reached.add(fragment);
        open.push(fragment);
      },
    });
  }
  const used = operation.variableDefinitions?.filter(({ variable }) => variables.has(variable.name.value)) ?? [];
  return { ...document, definitions: [{ ...operation, variableDefinitions: used }, ...reached] };
}
