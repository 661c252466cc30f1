import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  GraphQLList,
  GraphQLNonNull,
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
    case 'host':
      return graphqlTypeOf(field.field.type, (name) => types.output(name));
    default: {
      const type = types.output(typeNameOf(field));
      return isRequired(field) ? new GraphQLNonNull(type as GraphQLObjectType) : listIf(isList(field), type);
    }
  }
}

/** A field that every service has beside the elements. */
type OwnField = Exclude<TypedField, { readonly kind: 'element' | 'extension' | 'host' }>;

/** The name of the type of a field, without its list. */
export function typeNameOf(field: OwnField): string {
  switch (field.kind) {
    case 'sibling':
      return field.element.type === 'canonical' ? CANONICAL : 'Element';
    case 'resource-type':
      return 'String';
    case 'cache-key':
      return 'ID';
    case 'resolve':
      return RESOURCE;
    case 'read':
    case 'write':
    case 'list':
      return field.type;
    case 'connection':
      return `${field.type}Connection`;
    case 'connection-part':
      return field.name === 'edges' ? `${field.type}ConnectionEdge` : CURSORS.has(field.name) ? 'String' : 'Int';
    case 'changes':
      return `${field.type}Change`;
    case 'change-part':
      return field.name === 'resource' ? field.type : field.name === 'id' ? 'ID' : 'String';
    case 'edge-part':
      return field.name === 'resource' ? field.type : field.name === 'score' ? 'Float' : 'String';
  }
}

function isList(field: OwnField): boolean {
  if (field.kind === 'sibling') return field.element.array;
  return field.kind === 'list' || (field.kind === 'connection-part' && field.name === 'edges');
}

function isRequired(field: OwnField): boolean {
  return field.kind === 'changes' || (field.kind === 'change-part' && field.name !== 'resource');
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
