import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
} from '../graphql-js.js';
import { CANONICAL, RESOURCE, type FieldDescriptor } from './fields.js';
import type { InputField } from './input-fields.js';
import { graphqlTypeOf } from './host/type-reference.js';
import { scalarOf } from './scalars.js';

/** Where a schema keeps its types. */
export interface SchemaTypes {
  readonly model: FhirModel;
  /** The object type of a name, the interface `Resource`, or a scalar or enum that fields of the host may have. */
  output(name: string): GraphQLOutputType;
  /** `Reference` for an element with these targets; undefined: any. */
  reference(targets: readonly string[] | undefined): GraphQLOutputType;
}

/** A field with a type given by the definitions, unlike a choice by its base name. */
type TypedField = Exclude<FieldDescriptor, { readonly kind: 'choice' }>;

/** The GraphQL type of a field: used in both the validation schema and the schema for tools. */
export function typeOfField(field: TypedField, types: SchemaTypes): GraphQLOutputType {
  switch (field.kind) {
    case 'element':
      return listIf(field.element.array, typeOfElement(field.element, types));
    case 'extension': {
      const { type, value, array } = field.shape;
      return listIf(array, value === undefined ? types.output(type) : typeOfElement(value, types));
    }
    case 'sibling':
      return listIf(field.element.array, types.output(field.element.type === 'canonical' ? CANONICAL : 'Element'));
    case 'resource-type':
      return GraphQLString;
    case 'cache-key':
      return GraphQLID;
    case 'resolve':
      return types.output(RESOURCE);
    case 'read':
    case 'write':
      return types.output(field.type);
    case 'list':
      return new GraphQLList(types.output(field.type));
    case 'connection':
      return types.output(`${field.type}Connection`);
    case 'connection-part':
      if (field.name === 'edges') return new GraphQLList(types.output(`${field.type}ConnectionEdge`));
      return CURSORS.has(field.name) ? GraphQLString : GraphQLInt;
    case 'changes':
      return new GraphQLNonNull(types.output(`${field.type}Change`) as GraphQLObjectType);
    case 'change-part':
      if (field.name === 'resource') return types.output(field.type);
      return new GraphQLNonNull(field.name === 'id' ? GraphQLID : GraphQLString);
    case 'edge-part':
      if (field.name === 'resource') return types.output(field.type);
      return field.name === 'score' ? GraphQLFloat : GraphQLString;
    case 'host':
      return graphqlTypeOf(field.field.type, (name) => types.output(name));
  }
}

/**
 * The GraphQL type of a field of an input type.
 *
 * @param typeOf the scalar or input type of a name
 */
export function typeOfInputField(
  { type, array, required }: InputField,
  typeOf: (name: string) => GraphQLInputType,
): GraphQLInputType {
  if (array) return new GraphQLList(typeOf(type));
  return required ? new GraphQLNonNull(typeOf(type) as never) : typeOf(type);
}

const CURSORS: ReadonlySet<string> = new Set(['first', 'previous', 'next', 'last']);

function typeOfElement({ type, targets }: ElementDefinition, types: SchemaTypes): GraphQLOutputType {
  if (types.model.typeDefinition(type)?.kind === 'primitive') return scalarOf(type);
  return type === 'Reference' ? types.reference(targets) : types.output(type);
}

function listIf(array: boolean, type: GraphQLOutputType): GraphQLOutputType {
  return array ? new GraphQLList(type) : type;
}
