import {
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLScalarType,
  type GraphQLArgumentConfig,
  type GraphQLInputType,
  type GraphQLNamedType,
} from '../../graphql-js.js';
import type { HostInputField, HostTypeDefinition } from './host-schema.js';
import { graphqlTypeOf } from './type-reference.js';

/**
 * The type of graphql-js for an enum, input or scalar of the host.
 *
 * @param find the input type of a name, in the schema that the type is for
 */
export function createHostType(
  type: Exclude<HostTypeDefinition, { kind: 'object' }>,
  find: (name: string) => GraphQLInputType,
): GraphQLNamedType {
  const { name } = type;
  const description = type.description ?? null;
  switch (type.kind) {
    case 'enum':
      return new GraphQLEnumType({
        name,
        description,
        values: Object.fromEntries(
          type.values.map((value) => [
            value.name,
            { description: value.description ?? null, deprecationReason: value.deprecationReason ?? null },
          ]),
        ),
      });
    case 'input':
      return new GraphQLInputObjectType({
        name,
        description,
        fields: () => Object.fromEntries(type.fields.map((field) => [field.name, inputConfig(field, find)])),
      });
    case 'scalar':
      return new GraphQLScalarType({ name, description, specifiedByURL: type.specifiedByURL ?? null });
  }
}

/** The arguments of a field of the host. */
export function hostArguments(
  args: readonly HostInputField[],
  find: (name: string) => GraphQLInputType,
): { [name: string]: GraphQLArgumentConfig } {
  return Object.fromEntries(args.map((arg) => [arg.name, inputConfig(arg, find)]));
}

function inputConfig(
  { type, description, deprecationReason, defaultValue }: HostInputField,
  find: (name: string) => GraphQLInputType,
): GraphQLArgumentConfig {
  return {
    type: graphqlTypeOf(type, find),
    description: description ?? null,
    deprecationReason: deprecationReason ?? null,
    ...(defaultValue === undefined ? {} : { defaultValue }),
  };
}
