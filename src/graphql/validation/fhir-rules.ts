import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { modelOf } from '../schema/schema.js';
import { GraphQLError, Kind, type FieldNode, type ValueNode } from '../graphql-js.js';
import type { ValidationContext, ValidationRule } from '../graphql-js-validation.js';
import { argumentName, connectionOf, fieldsOf, QUERY, RESOURCE, reverseParameters } from '../schema/fields.js';
import type { FieldDescriptor } from '../schema/fields.js';

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
