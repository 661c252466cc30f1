import { GraphQLList, GraphQLNonNull, Kind, type GraphQLType, type TypeNode } from '../../graphql-js.js';

/** A type as SDL writes it: `Float`, `[Band!]!`. */
export type TypeReference =
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'list'; readonly of: TypeReference }
  | { readonly kind: 'required'; readonly of: TypeReference };

export function typeReferenceOf(node: TypeNode): TypeReference {
  switch (node.kind) {
    case Kind.NAMED_TYPE:
      return { kind: 'named', name: node.name.value };
    case Kind.LIST_TYPE:
      return { kind: 'list', of: typeReferenceOf(node.type) };
    case Kind.NON_NULL_TYPE:
      return { kind: 'required', of: typeReferenceOf(node.type) };
  }
}

/** The name inside lists and `!`. */
export function namedTypeOf(type: TypeReference): string {
  let inner = type;
  while (inner.kind !== 'named') inner = inner.of;
  return inner.name;
}

/** True for a list, required or not. */
export function isList(type: TypeReference): boolean {
  return type.kind === 'list' || (type.kind === 'required' && type.of.kind === 'list');
}

/** The type of graphql-js for a reference. */
export function graphqlTypeOf<Type extends GraphQLType>(type: TypeReference, find: (name: string) => Type): Type {
  if (type.kind === 'named') return find(type.name);
  const inner = graphqlTypeOf(type.of, find);
  return (type.kind === 'list' ? new GraphQLList(inner) : new GraphQLNonNull(inner as never)) as unknown as Type;
}
