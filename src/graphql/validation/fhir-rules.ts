import { didYouMean } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  isTypeSubTypeOf,
  ScalarLeafsRule,
  typeFromAST,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
} from '../graphql-js-validation.js';
import {
  type ASTNode,
  type FieldNode,
  getNamedType,
  getNullableType,
  GraphQLError,
  type GraphQLType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  type ObjectValueNode,
  type ValueNode,
  type VariableDefinitionNode,
} from '../graphql-js.js';
import {
  argumentName,
  CHOICE,
  connectionOf,
  type FieldDescriptor,
  fieldsOf,
  MUTATION,
  QUERY,
  RESOURCE,
  reverseParameters,
} from '../schema/fields.js';
import { hostOf } from '../schema/host/service-model.js';
import { inputFieldsOf, type InputPlace } from '../schema/input-fields.js';
import { expectedOf, INPUT_SCALARS, takesLiteral, takesVariable } from '../schema/input-scalars.js';
import { withStandardLeaf } from '../schema/leaf-types.js';
import { isLenientScalar } from '../schema/scalars.js';
import { modelOf } from '../schema/schema.js';

/** A read names its resource exactly once, by `id` or by `_id`. */
export const ReadByIdRule: ValidationRule = (context: ValidationContext) => ({
  Field(node) {
    if (describe(context, node)?.kind !== 'read') return;
    const given = node.arguments?.filter(({ name }) => name.value === 'id' || name.value === '_id') ?? [];
    if (given.length === 1 && given[0]!.value.kind !== Kind.NULL) return;
    const message =
      given.length > 1
        ? `Field "${node.name.value}" takes either "id" or "_id", not both.`
        : `Field "${node.name.value}" argument "id" of type "ID!" is required, but it was not provided. To search, use "${node.name.value}List".`;
    context.reportError(new GraphQLError(message, { nodes: node }));
  },
});

/** `_reference` names a search parameter that can point to the resource around the field. */
export const ReferenceParameterRule: ValidationRule = (context: ValidationContext) => ({
  Field(node) {
    const field = describe(context, node);
    if (field?.kind !== 'list' && field?.kind !== 'connection') return;
    const value = node.arguments?.find(({ name }) => name.value === '_reference')?.value;
    const name = literalName(value);
    if (value === undefined || name === undefined || !field.reverse) return;
    const parent = context.getParentType()!.name;
    const offered = offeredReferences(context, node);
    if (offered.includes(argumentName(name))) return;
    context.reportError(
      new GraphQLError(
        `"${name.slice(0, 64)}" is not a search parameter of ${field.type} that can point to ${parent}; expected one of: ${offered.join(', ')}.`,
        { nodes: value },
      ),
    );
  },
});

/** The possible values of `_reference` for a reverse list; empty for other fields. */
export function offeredReferences(context: ValidationContext, node: FieldNode): readonly string[] {
  const field = describe(context, node);
  if ((field?.kind !== 'list' && field?.kind !== 'connection') || !field.reverse) return [];
  const model = modelOf(context);
  const parent = context.getParentType()!.name;
  const offered = parent === RESOURCE ? allReferences(model, field.type) : reverseParameters(model, field.type, parent);
  return offered.map(argumentName);
}

/** `resource(type:)` names a resource type. */
export const ResourceTypeRule: ValidationRule = (context: ValidationContext) => ({
  Field(node) {
    if (describe(context, node)?.kind !== 'resolve') return;
    const value = node.arguments?.find(({ name }) => name.value === 'type')?.value;
    const name = literalName(value);
    if (value === undefined || name === undefined || modelOf(context).isResourceType(name)) return;
    context.reportError(new GraphQLError(`"${name.slice(0, 64)}" is not a resource type.`, { nodes: value }));
  },
});

/** A variable called `__proto__` would lose its value in graphql 16, which assigns it to an object. */
export const ReservedVariableRule: ValidationRule = (context: ValidationContext) => ({
  VariableDefinition(node) {
    if (node.variable.name.value !== '__proto__') return;
    context.reportError(new GraphQLError('Variable "$__proto__" is reserved; give it another name.', { nodes: node }));
  },
});

/** Undefined for unknown fields, which other rules report. */
function describe(context: ValidationContext, node: FieldNode): FieldDescriptor | undefined {
  const parent = context.getParentType()?.name;
  if (parent === undefined) return undefined;
  if (parent !== QUERY && parent !== RESOURCE && connectionOf(modelOf(context), parent) !== undefined) return undefined;
  const field = fieldsOf(modelOf(context), parent)?.get(node.name.value);
  if (field !== undefined || parent !== RESOURCE) return field;
  const type = /^(.+)(List|Connection)$/.exec(node.name.value);
  if (type === null || !modelOf(context).isResourceType(type[1]!)) return undefined;
  return { kind: type[2] === 'List' ? 'list' : 'connection', name: node.name.value, type: type[1]!, reverse: true };
}

function literalName(value: ValueNode | undefined): string | undefined {
  return value?.kind === Kind.ENUM || value?.kind === Kind.STRING ? value.value : undefined;
}

function allReferences(model: FhirModel, type: string): string[] {
  return [...model.searchParameters(type).values()].filter(({ type }) => type === 'reference').map(({ code }) => code);
}

/**
 * graphql-js's rule "Fragment Spread Is Possible", comparing types by name: the schema has one `Reference` and one
 * `Resource` per set of reference targets, which are one type to the author of a query. See
 * https://spec.graphql.org/October2021/#sec-Fragment-spread-is-possible.
 */
export const FragmentSpreadsRule: ValidationRule = (context: ValidationContext) => {
  const check = (node: ASTNode, fragment: GraphQLType | null | undefined, what: string) => {
    const parent = context.getParentType();
    if (!isCompositeType(fragment) || !isCompositeType(parent) || overlap(modelOf(context), fragment.name, parent.name))
      return;
    const message = `${what} cannot be spread here as objects of type "${parent.name}" can never be of type "${fragment.name}".`;
    const isTarget = parent.name === 'Reference' && modelOf(context).isResourceType(fragment.name);
    const hint = isTarget ? ` Did you mean "resource { ... on ${fragment.name} }"?` : '';
    context.reportError(new GraphQLError(`${message}${hint}`, { nodes: node }));
  };
  return {
    InlineFragment(node) {
      check(node, context.getType(), 'Fragment');
    },
    FragmentSpread(node) {
      const fragment = context.getFragment(node.name.value);
      if (fragment == null) return;
      check(node, typeFromAST(context.getSchema(), fragment.typeCondition), `Fragment "${node.name.value}"`);
    },
  };
};

/** True if an object can be of both types: equal types, or a resource type and the interface. */
function overlap(model: FhirModel, one: string, other: string): boolean {
  if (one === other) return true;
  return (one === RESOURCE && model.isResourceType(other)) || (other === RESOURCE && model.isResourceType(one));
}

/**
 * Reshaping directives must fit their field: `@flatten` is for objects, `@slice` has exactly one expression, and
 * `@first` and `@slice` exclude each other, as in HL7's engine.
 */
export const ShapingDirectivesRule: ValidationRule = (context: ValidationContext) => ({
  Field(node) {
    const report = (message: string) => {
      context.reportError(new GraphQLError(message, { nodes: node }));
    };
    const flatten = directive(node, 'flatten');
    if (flatten !== undefined && !isCompositeType(getNamedType(context.getType()))) {
      report(`Directive "@flatten" is not allowed on "${node.name.value}", which has no fields.`);
    }
    const slice = directive(node, 'slice');
    if (slice === undefined) return;
    if (slice.arguments?.length !== 1)
      report('Directive "@slice" takes one argument: "path", or "fhirpath" for the same.');
    if (directive(node, 'first') !== undefined)
      report('Directives "@slice" and "@first" cannot be used on the same field.');
  },
});

/** graphql-js's rule "Leaf Field Selections", except that a deletion, which returns nothing, needs no selection. */
export const DeletionLeafsRule: ValidationRule = (context: ValidationContext) => {
  const { Field } = ScalarLeafsRule(context) as { Field: (node: FieldNode) => void };
  return {
    Field(node) {
      if (node.selectionSet === undefined && isDeletion(context, node)) return;
      Field(node);
    },
  };
};

/** The same for dialect `hl7`, where choices have base names: the data decides whether they are leaves. */
export const ChoiceLeafsRule: ValidationRule = (context: ValidationContext) => {
  const { Field } = DeletionLeafsRule(context) as { Field: (node: FieldNode) => void };
  return {
    Field(node) {
      if (getNamedType(context.getType())?.name !== CHOICE) Field(node);
    },
  };
};

function isDeletion(context: ValidationContext, node: FieldNode): boolean {
  if (context.getParentType()?.name !== MUTATION) return false;
  const field = fieldsOf(modelOf(context), MUTATION)!.get(node.name.value);
  return field?.kind === 'write' && field.interaction === 'delete';
}

function directive(node: FieldNode, name: string) {
  return node.directives?.find((candidate) => candidate.name.value === name);
}

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
