/**
 * The parts of graphql-js that check documents and coerce variables. `graphql-js.ts` has the others.
 *
 * PERF (start): only modules that are loaded by `import()` import this file. Its 60 modules take a fifth of the time from import
 * to first answer, and plain documents and variables need none of them.
 */
export { sortValueNode } from 'graphql/utilities/sortValueNode.js';
export { TypeInfo, visitWithTypeInfo } from 'graphql/utilities/TypeInfo.js';
export { typeFromAST } from 'graphql/utilities/typeFromAST.js';
export { isTypeSubTypeOf } from 'graphql/utilities/typeComparators.js';
export { validate } from 'graphql/validation/validate.js';
export { specifiedRules } from 'graphql/validation/specifiedRules.js';
export { OverlappingFieldsCanBeMergedRule } from 'graphql/validation/rules/OverlappingFieldsCanBeMergedRule.js';
export { FieldsOnCorrectTypeRule } from 'graphql/validation/rules/FieldsOnCorrectTypeRule.js';
export {
  KnownArgumentNamesOnDirectivesRule,
  KnownArgumentNamesRule,
} from 'graphql/validation/rules/KnownArgumentNamesRule.js';
export { ProvidedRequiredArgumentsRule } from 'graphql/validation/rules/ProvidedRequiredArgumentsRule.js';
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
