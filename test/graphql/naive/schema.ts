import type { ResourceStore } from '../../../src/index.js';
import { type ElementDefinition, R4 } from '../../../src/store.js';
import { execute } from 'graphql/execution/execute.js';
import {
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  type DocumentNode,
  type GraphQLArgumentConfig,
  type GraphQLFieldConfig,
  type GraphQLInputType,
  isListType,
  isNonNullType,
  type GraphQLOutputType,
} from '../../../src/graphql/graphql-js.js';
import { argumentsOf } from '../../../src/graphql/schema/arguments.js';
import { fieldsOf, type FieldDescriptor } from '../../../src/graphql/schema/fields.js';
import { isLenientScalar, scalarOf } from '../../../src/graphql/schema/scalars.js';
import { readOne, resolveReference, searchAll, type Arguments, type Item } from './resolvers.js';
import { keepItems } from './keep-items.js';

/** The answer of the naive engine: graphql-js executes the query field by field, and its resolvers call the store one by one. */
export interface NaiveAnswer {
  readonly data?: unknown;
  readonly errors?: readonly { readonly path?: readonly (string | number)[] | undefined }[];
}

/**
 * A slow reference engine for comparison: an ordinary graphql-js schema with straightforward resolvers.
 *
 * It shares with the engine only the description of the schema's fields; planning, batching, filtering, merging and
 * errors are its own or graphql-js's.
 *
 * @param types the resource types of the data; only these can be read and searched
 */
export function createNaiveEngine(
  store: ResourceStore,
  project: string,
  types: readonly string[],
): (document: DocumentNode, variableValues?: { readonly [name: string]: unknown }) => Promise<NaiveAnswer> {
  const schema = new SchemaBuilder(store, project, types).build();
  return async (document, variableValues) => execute({ schema, document, variableValues: { ...variableValues } });
}

class SchemaBuilder {
  readonly #types = new Map<string, GraphQLObjectType>();
  readonly #resource = new GraphQLInterfaceType({
    name: 'Resource',
    fields: () => this.#fields('Resource'),
    resolveType: (item: Item) => String(item.value['resourceType']),
  });

  constructor(
    private readonly store: ResourceStore,
    private readonly project: string,
    private readonly types: readonly string[],
  ) {}

  build(): GraphQLSchema {
    const query = this.#object('Query');
    // Interfaces are resolved to types by name, so all possible types of the data must be known.
    const types = this.types.map((name) => this.#object(name));
    return new GraphQLSchema({ query, types, assumeValid: true });
  }

  #object(name: string): GraphQLObjectType {
    let type = this.#types.get(name);
    if (type === undefined) {
      type = new GraphQLObjectType({
        name,
        interfaces: () => (R4.isResourceType(name) ? [this.#resource] : []),
        fields: () => this.#fields(name),
      });
      this.#types.set(name, type);
    }
    return type;
  }

  #fields(typeName: string): { [name: string]: GraphQLFieldConfig<Item, unknown> } {
    const fields: { [name: string]: GraphQLFieldConfig<Item, unknown> } = {};
    for (const field of fieldsOf(R4, typeName)!.values()) {
      const type = this.#typeOf(field);
      if (type === undefined) continue;
      fields[field.name] = {
        type,
        args: renamedArguments(field),
        resolve: (item, args: Arguments) => this.#resolve(field, item, args),
      };
    }
    return fields;
  }

  /** Undefined for omitted types: those that the data do not have, which keeps the schema small. */
  #typeOf(field: FieldDescriptor): GraphQLOutputType | undefined {
    switch (field.kind) {
      case 'element':
        return this.#elementType(field.element);
      case 'sibling':
        return listIf(field.element.array, this.#object('Element'));
      case 'resource-type':
        return scalarOf('string');
      case 'resolve':
        return this.#resource;
      case 'read':
        return this.types.includes(field.type) ? this.#object(field.type) : undefined;
      case 'list':
        return this.types.includes(field.type) ? new GraphQLList(this.#object(field.type)) : undefined;
      default:
        return undefined;
    }
  }

  #elementType(element: ElementDefinition): GraphQLOutputType {
    const kind = R4.typeDefinition(element.type)?.kind;
    if (kind === 'primitive') return listIf(element.array, scalarOf(element.type));
    return listIf(element.array, kind === 'resource' ? this.#resource : this.#object(element.type));
  }

  #resolve(field: FieldDescriptor, item: Item, args: Arguments): unknown {
    const source = { store: this.store, project: this.project };
    switch (field.kind) {
      case 'read':
        return readOne(source, field.type, args);
      case 'list':
        return searchAll(source, field.type, field.reverse ? item : undefined, args);
      case 'resolve':
        return resolveReference(source, item, args);
      case 'resource-type':
        return item.value['resourceType'];
      case 'sibling':
        return wrap(item.value[field.name], item.resource);
      case 'element': {
        const value = item.value[field.name];
        if (R4.typeDefinition(field.element.type)?.kind === 'primitive') return value;
        const kept = Array.isArray(value) ? keepItems(value, field.element.type, args, item.resource) : value;
        return wrap(kept, item.resource);
      }
      default:
        throw new Error(`Not part of the naive schema: ${field.kind}`);
    }
  }
}

function listIf(array: boolean, type: GraphQLOutputType): GraphQLOutputType {
  return array ? new GraphQLList(type) : type;
}

/** Gives every object of the data the resource that contains it. */
function wrap(value: unknown, resource: Item['resource']): unknown {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.map((item: unknown) => wrap(item, resource));
  return { value, resource };
}

/** An ordinary schema cannot have two types called `String`, so the lenient one gets another name. */
function renamedArguments(field: FieldDescriptor): { [name: string]: GraphQLArgumentConfig } {
  const renamed = Object.entries(argumentsOf(R4, field, noInput)).map(([name, { type }]) => [
    name,
    { type: renamedType(type) },
  ]);
  return Object.fromEntries(renamed) as { [name: string]: GraphQLArgumentConfig };
}

/** Queries accept no objects. */
function noInput(name: string): never {
  throw new Error(`${name} is for mutations`);
}

const RENAMED = new Map<unknown, GraphQLScalarType>();

function renamedType(type: GraphQLInputType): GraphQLInputType {
  if (isNonNullType(type)) return new GraphQLNonNull(renamedType(type.ofType) as GraphQLScalarType);
  if (isListType(type)) return new GraphQLList(renamedType(type.ofType));
  if (!isLenientScalar(type)) return type;
  let renamed = RENAMED.get(type);
  if (renamed === undefined) {
    const { name, parseLiteral, parseValue } = type as GraphQLScalarType;
    RENAMED.set(
      type,
      (renamed = new GraphQLScalarType({ name: `Lenient${name}${RENAMED.size}`, parseLiteral, parseValue })),
    );
  }
  return renamed;
}
