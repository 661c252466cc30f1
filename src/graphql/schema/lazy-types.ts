import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  GraphQLInputObjectType,
  GraphQLInterfaceType,
  GraphQLObjectType,
  type GraphQLArgumentConfig,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
} from '../graphql-js.js';
import type { FieldDescriptor } from './fields.js';
import type { InputField } from './input-fields.js';

// graphql-js types with fields created on first access.

type FieldMap = { [name: string]: GraphQLField<unknown, unknown> };
type InputFieldMap = { [name: string]: GraphQLInputField };

export class LazyObjectType extends GraphQLObjectType {
  fieldMap: FieldMap = {};
  /** Of a type called `Reference`: the resource types that it may lead to; there is one type per set. Undefined for any. */
  targets: readonly string[] | undefined;
  override getFields(): FieldMap {
    return this.fieldMap;
  }
}

export class LazyInterfaceType extends GraphQLInterfaceType {
  fieldMap: FieldMap = {};
  /** Of the `Resource` behind a reference: see {@link LazyObjectType}. */
  targets: readonly string[] | undefined;
  override getFields(): FieldMap {
    return this.fieldMap;
  }
}

export class LazyInputObjectType extends GraphQLInputObjectType {
  fieldMap: InputFieldMap = {};
  override getFields(): InputFieldMap {
    return this.fieldMap;
  }
}

/** Creates a field object as this version of graphql-js does: through a type with only this field. */
export function createField(
  parent: string,
  field: FieldDescriptor,
  type: GraphQLOutputType,
  args: { [name: string]: GraphQLArgumentConfig },
): GraphQLField<unknown, unknown> {
  const holder = new GraphQLObjectType({
    name: parent,
    fields: {
      [field.name]: {
        type,
        args,
        description: 'element' in field ? field.element.short : null,
        deprecationReason: field.kind === 'host' ? (field.field.deprecationReason ?? null) : null,
      },
    },
  });
  return holder.getFields()[field.name]!;
}

/** The same for a field of an input type. */
export function createInputField(
  parent: string,
  { name, description }: InputField,
  type: GraphQLInputType,
): GraphQLInputField {
  const holder = new GraphQLInputObjectType({ name: parent, fields: { [name]: { type, description } } });
  return holder.getFields()[name]!;
}

/** A field map with entries created on first access and cached. */
export function lazyFields<Descriptor extends { readonly name: string }, Field>(
  descriptors: readonly Descriptor[],
  create: (descriptor: Descriptor) => Field,
): { [name: string]: Field } {
  const fields = Object.create(null) as { [name: string]: Field };
  for (const field of descriptors) {
    Object.defineProperty(fields, field.name, {
      enumerable: true,
      configurable: true,
      get() {
        const created = create(field);
        Object.defineProperty(fields, field.name, { enumerable: true, writable: true, value: created });
        return created;
      },
    });
  }
  return fields;
}

/** Resolves every known name, but enumerates only the resource types, for suggestions. */
export function lazyTypeMap(
  model: FhirModel,
  find: (name: string) => GraphQLNamedType | undefined,
): { [name: string]: GraphQLNamedType } {
  return new Proxy(Object.create(null) as { [name: string]: GraphQLNamedType }, {
    get: (_, name) => (typeof name === 'string' ? find(name) : undefined),
    has: (_, name) => typeof name === 'string' && find(name) !== undefined,
    ownKeys: () => [...model.resourceTypes],
    // PERF (start): `Object.keys`, by which graphql 16 begins each validation, lists all names, and must not create the types.
    getOwnPropertyDescriptor: (_, name) => {
      if (typeof name !== 'string') return undefined;
      if (!model.isResourceType(name) && find(name) === undefined) return undefined;
      return { enumerable: true, configurable: true, get: () => find(name) };
    },
  });
}
