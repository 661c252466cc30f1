/**
 * The parts of graphql-js that every process uses, from the modules that hold them: the parser and the types.
 * `graphql-js-validation.ts` has the rules.
 *
 * PERF (start): the package's own index loads execution and utilities that are not used here; leaving them out halves the time
 * from import to first answer. The `.js` paths exist in graphql 16 and 17 alike.
 */
export { GraphQLError } from 'graphql/error/GraphQLError.js';
export { locatedError } from 'graphql/error/locatedError.js';
export { Kind } from 'graphql/language/kinds.js';
export { parse, parseType } from 'graphql/language/parser.js';
export { visit } from 'graphql/language/visitor.js';
export { print } from 'graphql/language/printer.js';
export { Source } from 'graphql/language/source.js';
export { getLocation } from 'graphql/language/location.js';
export type {
  ArgumentNode,
  ConstDirectiveNode,
  DocumentNode,
  EnumTypeDefinitionNode,
  FieldDefinitionNode,
  FieldNode,
  FragmentDefinitionNode,
  InlineFragmentNode,
  InputObjectTypeDefinitionNode,
  InputValueDefinitionNode,
  ObjectTypeDefinitionNode,
  ObjectValueNode,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
  TypeNode,
  ValueNode,
  VariableDefinitionNode,
  ASTNode,
} from 'graphql/language/ast.js';
export {
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLUnionType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  type GraphQLArgumentConfig,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  type GraphQLInputField,
  type GraphQLInputFieldConfig,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLType,
} from 'graphql/type/definition.js';
export {
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  GraphQLString,
  isSpecifiedScalarType,
} from 'graphql/type/scalars.js';
export { DirectiveLocation } from 'graphql/language/directiveLocation.js';
export { GraphQLDirective, specifiedDirectives } from 'graphql/type/directives.js';
export { SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef } from 'graphql/type/introspection.js';
export { GraphQLSchema } from 'graphql/type/schema.js';
export { printSchema, printType } from 'graphql/utilities/printSchema.js';
export { valueFromASTUntyped } from 'graphql/utilities/valueFromASTUntyped.js';
