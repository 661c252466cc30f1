import {
  getNamedType,
  getNullableType,
  GraphQLError,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  type GraphQLType,
  type VariableDefinitionNode,
} from '../graphql-js.js';
import { isTypeSubTypeOf, typeFromAST, type ValidationContext, type ValidationRule } from '../graphql-js-validation.js';
import { INPUT_SCALARS, takesVariable } from '../schema/input-scalars.js';
import { withStandardLeaf } from '../schema/leaf-types.js';
import { isLenientScalar } from '../schema/scalars.js';

/**
 * graphql-js's rule "All Variable Usages Are Allowed", with one addition: positions for FHIR search values or tokens
 * accept variables of any scalar type, single or in a list, since search parameters have no GraphQL types of their own.
 * Inside resources a single value is accepted as a list. See
 * https://spec.graphql.org/October2021/#sec-All-Variable-Usages-are-Allowed.
 */
export const LenientVariablesRule: ValidationRule = (context: ValidationContext) => checkUsages(context, isAllowed);

/**
 * The same for dialect `hl7`, where null variables are allowed for required values, as in HL7's test cases: `query
 * test($var: Boolean) { … @include(if: $var) }`.
 */
export const NullableVariablesRule: ValidationRule = (context: ValidationContext) =>
  checkUsages(context, (context, variable, definition, location, locationDefault) =>
    isAllowed(context, variable, definition, getNullableType(location) as GraphQLType, locationDefault),
  );

const checkUsages = (context: ValidationContext, isAllowed: IsAllowed): ReturnType<ValidationRule> => ({
  OperationDefinition: {
    leave(operation) {
      const definitions = new Map<string, VariableDefinitionNode>(
        operation.variableDefinitions?.map((definition) => [definition.variable.name.value, definition]),
      );
      for (const { node, type, defaultValue } of context.getRecursiveVariableUsages(operation)) {
        const definition = definitions.get(node.name.value);
        if (definition === undefined || type == null) continue;
        const variableType = typeFromAST(context.getSchema(), definition.type);
        const standard = variableType === undefined ? undefined : withStandardLeaf(variableType);
        if (variableType === undefined || isAllowed(context, standard!, definition, type, defaultValue)) continue;
        context.reportError(
          new GraphQLError(
            `Variable "$${node.name.value}" of type "${variableType.toString()}" used in position expecting type "${type.toString()}".`,
            { nodes: [definition, node] },
          ),
        );
      }
    },
  },
});

type IsAllowed = (
  context: ValidationContext,
  variable: GraphQLType,
  definition: VariableDefinitionNode,
  location: GraphQLType,
  locationDefault: unknown,
) => boolean;

function isAllowed(
  context: ValidationContext,
  variable: GraphQLType,
  definition: VariableDefinitionNode,
  location: GraphQLType,
  locationDefault: unknown,
): boolean {
  if (isLenientScalar(itemType(location))) return isScalarType(itemType(variable));
  if (isNonNullType(location) && !isNonNullType(variable)) {
    const hasDefault = definition.defaultValue !== undefined && definition.defaultValue.kind !== Kind.NULL;
    if (!hasDefault && locationDefault === undefined) return false;
    return fits(context, variable, location.ofType);
  }
  return fits(context, variable, location);
}

/**
 * Whether a variable fits its position: by type, inside resources also by the name of the scalar, and as a single value
 * for a list.
 */
function fits(context: ValidationContext, variable: GraphQLType, location: GraphQLType): boolean {
  if (isTypeSubTypeOf(context.getSchema(), variable, location)) return true;
  if (isNonNullType(location)) return isNonNullType(variable) && fits(context, variable.ofType, location.ofType);
  const given = getNullableType(variable) as GraphQLType;
  if (isListType(location)) return fits(context, isListType(given) ? given.ofType : given, location.ofType);
  if (!isScalarType(location) || INPUT_SCALARS.get(location.name) !== location) return false;
  return takesVariable(location.name, isListType(given) ? '' : getNamedType(given).name);
}

/** The scalar inside at most one list: `[String!]!` gives `String`. */
function itemType(type: GraphQLType): GraphQLType {
  const nullable = getNullableType(type);
  return isListType(nullable) ? (getNullableType(nullable.ofType) as GraphQLType) : nullable;
}
