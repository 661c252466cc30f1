import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { modelOf } from '../schema/schema.js';
import { didYouMean } from '../../fhir/messages.js';
import {
  getNamedType,
  getNullableType,
  GraphQLError,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  type ASTNode,
  type GraphQLType,
  type ObjectValueNode,
  type ValueNode,
} from '../graphql-js.js';
import {
  typeFromAST,
  ValuesOfCorrectTypeRule,
  type ValidationContext,
  type ValidationRule,
} from '../graphql-js-validation.js';
import { hostOf } from '../schema/host/service-model.js';
import { inputFieldsOf, type InputPlace } from '../schema/input-fields.js';
import { expectedOf, INPUT_SCALARS, takesLiteral } from '../schema/input-scalars.js';

/**
 * graphql-js's rule "Values of Correct Type", with other errors for resources and patches: they give the location and
 * the expectation, never the value, which may be clinical. See
 * https://spec.graphql.org/October2021/#sec-Values-of-Correct-Type.
 */
export const InputValuesRule: ValidationRule = (context: ValidationContext) => {
  const check = (type: GraphQLType | null | undefined, value: ValueNode | undefined): false | undefined => {
    const named = type == null ? undefined : getNamedType(type);
    if (type == null || value === undefined || named === undefined) return undefined;
    if (hostOf(modelOf(context))?.types.has(named.name) === true) return undefined;
    if (!isInputObjectType(named) && !(isScalarType(named) && INPUT_SCALARS.get(named.name) === named))
      return undefined;
    const report = (node: ASTNode, message: string): void =>
      context.reportError(new GraphQLError(message, { nodes: node }));
    if (value.kind === Kind.NULL && isNonNullType(type))
      report(value, `Expected a value of type "${named.name}", not null.`);
    checkValue(modelOf(context), { type: named.name, array: isListType(getNullableType(type)) }, value, report);
    return false;
  };
  return {
    ...ValuesOfCorrectTypeRule(context),
    Argument: (node) => check(context.getArgument()?.type, node.value),
    VariableDefinition: (node) => check(typeFromAST(context.getSchema(), node.type as never), node.defaultValue),
  };
};

type Report = (node: ASTNode, message: string) => void;

function checkValue(model: FhirModel, { type, array }: InputPlace, node: ValueNode, report: Report): void {
  const items = array && node.kind === Kind.LIST ? node.values : [node];
  for (const item of items)
    if (item.kind !== Kind.VARIABLE && item.kind !== Kind.NULL) checkOne(model, type, item, report);
}

function checkOne(model: FhirModel, type: string, node: ValueNode, report: Report): void {
  if (INPUT_SCALARS.has(type)) {
    if (!takesLiteral(type, node)) report(node, `Expected ${expectedOf(type)}, a value of type "${type}".`);
  } else if (node.kind !== Kind.OBJECT) {
    report(node, `Expected an object of type "${type}".`);
  } else {
    checkFields(model, type, node, report);
  }
}

function checkFields(model: FhirModel, type: string, node: ObjectValueNode, report: Report): void {
  const fields = inputFieldsOf(model, type)!;
  const given = new Map(node.fields.map((field) => [field.name.value, field]));
  for (const [name, field] of given) {
    const known = fields.get(name);
    if (known !== undefined) checkValue(model, known, field.value, report);
    else {
      const hint = didYouMean(name, fields.keys());
      report(field, `Field "${name.slice(0, 64)}" is not defined by type "${type}".${hint}`);
    }
  }
  for (const { name, required } of fields.values()) {
    const value = given.get(name)?.value;
    if (required && (value === undefined || value.kind === Kind.NULL)) {
      report(node, `Field "${name}" of type "${type}" must be given.`);
    }
  }
}
