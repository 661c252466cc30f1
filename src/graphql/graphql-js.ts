/**
 * The parts of graphql-js that the engine uses, from the modules that hold them.
 *
 * PERF: the package's own index loads execution and utilities that are not used here; leaving them out halves the time
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
export { GraphQLBoolean, GraphQLFloat, GraphQLID, GraphQLInt, GraphQLString } from 'graphql/type/scalars.js';
export { DirectiveLocation } from 'graphql/language/directiveLocation.js';
export { GraphQLDirective, specifiedDirectives } from 'graphql/type/directives.js';
export { SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef } from 'graphql/type/introspection.js';
export { GraphQLSchema } from 'graphql/type/schema.js';
export { sortValueNode } from 'graphql/utilities/sortValueNode.js';
export { printSchema } from 'graphql/utilities/printSchema.js';
export { TypeInfo, visitWithTypeInfo } from 'graphql/utilities/TypeInfo.js';
export { typeFromAST } from 'graphql/utilities/typeFromAST.js';
export { isTypeSubTypeOf } from 'graphql/utilities/typeComparators.js';
export { valueFromASTUntyped } from 'graphql/utilities/valueFromASTUntyped.js';
export { validate } from 'graphql/validation/validate.js';
export { specifiedRules } from 'graphql/validation/specifiedRules.js';
export { OverlappingFieldsCanBeMergedRule } from 'graphql/validation/rules/OverlappingFieldsCanBeMergedRule.js';
export { FieldsOnCorrectTypeRule } from 'graphql/validation/rules/FieldsOnCorrectTypeRule.js';
export { ScalarLeafsRule } from 'graphql/validation/rules/ScalarLeafsRule.js';
export { PossibleFragmentSpreadsRule } from 'graphql/validation/rules/PossibleFragmentSpreadsRule.js';
export { ValuesOfCorrectTypeRule } from 'graphql/validation/rules/ValuesOfCorrectTypeRule.js';
export { VariablesInAllowedPositionRule } from 'graphql/validation/rules/VariablesInAllowedPositionRule.js';
export type { ValidationContext, ValidationRule } from 'graphql/validation/ValidationContext.js';

import { getVariableValues } from 'graphql/execution/values.js';
import type { GraphQLError } from 'graphql/error/GraphQLError.js';
import type { VariableDefinitionNode } from 'graphql/language/ast.js';
import type { GraphQLSchema } from 'graphql/type/schema.js';

/** Variables coerced to their declared types, or the errors. */
export type CoercedVariables =
  | { readonly values: { readonly [name: string]: unknown }; readonly errors?: undefined }
  | { readonly errors: readonly GraphQLError[] };

/**
 * Coerces the variables of a request as https://spec.graphql.org/October2021/#sec-Coercing-Variable-Values says.
 *
 * graphql 16 answers with `coerced`, graphql 17 with `variableValues.coerced`.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  inputs: { readonly [name: string]: unknown },
): CoercedVariables {
  const result: {
    readonly errors?: readonly GraphQLError[];
    readonly coerced?: { readonly [name: string]: unknown };
    readonly variableValues?: { readonly coerced: { readonly [name: string]: unknown } };
  } = getVariableValues(schema, definitions, declared(definitions, inputs), { maxErrors: 20 });
  if (result.errors !== undefined) return { errors: result.errors };
  return { values: result.variableValues?.coerced ?? result.coerced ?? {} };
}

/** The declared inputs; a request may have any number of others. */
function declared(
  definitions: readonly VariableDefinitionNode[],
  inputs: { readonly [name: string]: unknown },
): { [name: string]: unknown } {
  const names = definitions.map(({ variable }) => variable.name.value).filter((name) => Object.hasOwn(inputs, name));
  return Object.fromEntries(names.map((name) => [name, inputs[name]]));
}
