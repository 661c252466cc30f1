import {
  GraphQLInputObjectType,
  GraphQLInterfaceType,
  type GraphQLNamedType,
  GraphQLObjectType,
  GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from '../graphql-js.js';

/**
 * All types that these reach, in the order in which graphql-js finds them. In steps, one for each type, because
 * defining the fields of all types is most of the work of building a schema.
 *
 * @param first types that keep their order
 * @param roots further types
 */
export function* collectTypes(
  first: readonly GraphQLNamedType[],
  roots: readonly GraphQLNamedType[],
): Generator<void, readonly GraphQLNamedType[]> {
  const found = new Set(first);
  for (const type of first) {
    // Keeps the order: a type that was reached early moves to its later place.
    found.delete(type);
    yield* addReached([type], found);
  }
  yield* addReached(roots, found);
  return [...found];
}

function* addReached(roots: readonly GraphQLNamedType[], found: Set<GraphQLNamedType>): Generator<void> {
  // A stack, as deep as the recursion of graphql-js.
  const open = [roots.values()];
  for (let types = open.at(-1); types !== undefined; types = open.at(-1)) {
    const { value: type, done } = types.next();
    if (done === true) open.pop();
    else if (!found.has(type)) {
      yield;
      found.add(type);
      open.push(typesIn(type).values());
    }
  }
}

function typesIn(type: GraphQLNamedType): readonly GraphQLNamedType[] {
  if (isInputObjectType(type)) return Object.values(type.getFields()).map((field) => getNamedType(field.type));
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  const types: GraphQLNamedType[] = [...type.getInterfaces()];
  for (const field of Object.values(type.getFields())) {
    types.push(getNamedType(field.type));
    for (const arg of field.args) types.push(getNamedType(arg.type));
  }
  return types;
}

/** While it is true, types show no fields, so that the constructor of a schema does not look for their types again. */
let areTypesCollected = false;

/** A schema of types that {@link collectTypes} found. */
export function schemaOfCollected(config: ConstructorParameters<typeof GraphQLSchema>[0]): GraphQLSchema {
  areTypesCollected = true;
  try {
    return new GraphQLSchema(config);
  } finally {
    areTypesCollected = false;
  }
}

export class CollectedObjectType extends GraphQLObjectType {
  override getFields(): ReturnType<GraphQLObjectType['getFields']> {
    return areTypesCollected ? {} : super.getFields();
  }
}

export class CollectedInterfaceType extends GraphQLInterfaceType {
  override getFields(): ReturnType<GraphQLInterfaceType['getFields']> {
    return areTypesCollected ? {} : super.getFields();
  }
}

export class CollectedInputObjectType extends GraphQLInputObjectType {
  override getFields(): ReturnType<GraphQLInputObjectType['getFields']> {
    return areTypesCollected ? {} : super.getFields();
  }
}
