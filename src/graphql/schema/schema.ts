import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import {
  GraphQLFloat,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  GraphQLID,
  GraphQLBoolean,
  type GraphQLArgumentConfig,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type ValidationContext,
} from '../graphql-js.js';
import type { Dialect } from '../dialect.js';
import { argumentsOf } from './arguments.js';
import { DIRECTIVES } from './directives.js';
import {
  CANONICAL,
  CHOICE,
  connectionOf,
  type ConnectionPart,
  fieldsOf,
  MUTATION,
  QUERY,
  RESOURCE,
  type FieldDescriptor,
} from './fields.js';
import { inputFieldsOf, JSON_VALUE, RESOURCE_INPUT, type InputField } from './input-fields.js';
import { INPUT_SCALARS } from './input-scalars.js';
import { RESOURCE_TYPE_NAME, scalarOf, SEARCH_PARAMETER_NAME } from './scalars.js';

type FieldMap = { [name: string]: GraphQLField<unknown, unknown> };
type InputFieldMap = { [name: string]: GraphQLInputField };

/**
 * The GraphQL schema of FHIR R4, completed type by type as queries touch it.
 *
 * graphql-js builds a schema by walking every reachable type. Here that would be some 1,500 types and 60,000 fields for
 * a query that needs five, so this one answers `getType` and its like from the definitions and completes a type, and each
 * field of it, at first use. It serves validation; execution never walks it.
 */
export class FhirSchema extends GraphQLSchema {
  readonly #root: string;
  readonly #types = new Map<string, GraphQLNamedType>();
  readonly #references = new Map<string, GraphQLObjectType>();
  readonly #typeMap: { [name: string]: GraphQLNamedType };

  /** @param root `Query`, or a resource type for queries about one instance (https://hl7.org/fhir/R4/graphql.html#instance). */
  constructor(
    readonly model: FhirModel,
    private readonly dialect: Dialect,
    root: string = QUERY,
  ) {
    // The definitions are the schema's proof of validity; graphql-js need not look for itself.
    super({ assumeValid: true, directives: DIRECTIVES });
    this.#root = root;
    for (const type of [GraphQLString, GraphQLBoolean, GraphQLInt, GraphQLFloat, GraphQLID]) {
      this.#types.set(type.name, type);
    }
    this.#types.set(SEARCH_PARAMETER_NAME.name, SEARCH_PARAMETER_NAME);
    this.#types.set(RESOURCE_TYPE_NAME.name, RESOURCE_TYPE_NAME);
    for (const name of [JSON_VALUE, RESOURCE_INPUT]) this.#types.set(name, INPUT_SCALARS.get(name)!);
    this.#typeMap = lazyTypeMap(model, (name) => this.getType(name));
  }

  override getQueryType(): GraphQLObjectType {
    return this.getType(this.#root) as GraphQLObjectType;
  }

  override getMutationType(): GraphQLObjectType {
    return this.getType(MUTATION) as GraphQLObjectType;
  }

  override getType(name: string): GraphQLNamedType | undefined {
    let type = this.#types.get(name);
    if (type === undefined) {
      type = this.#createType(name) ?? super.getTypeMap()?.[name];
      if (type !== undefined) this.#types.set(name, type);
    }
    return type;
  }

  override getTypeMap(): { [name: string]: GraphQLNamedType } {
    // The constructor of the base class asks before the fields of this one exist.
    return this.#typeMap;
  }

  override getPossibleTypes(): GraphQLObjectType[] {
    return this.model.resourceTypes.map((name) => this.getType(name) as GraphQLObjectType);
  }

  override getImplementations(): { objects: GraphQLObjectType[]; interfaces: GraphQLInterfaceType[] } {
    return { objects: this.getPossibleTypes(), interfaces: [] };
  }

  override isSubType(_abstractType: unknown, maybeSubType: GraphQLNamedType): boolean {
    return this.model.isResourceType(maybeSubType.name);
  }

  #createType(name: string): GraphQLNamedType | undefined {
    if (name === RESOURCE) return this.#createResource(undefined);
    const inputs = inputFieldsOf(this.model, name);
    if (inputs !== undefined) return this.#createInput(name, inputs);
    if (name === QUERY || name === MUTATION || name === CANONICAL || connectionOf(this.model, name) !== undefined)
      return this.#createObject(name);
    const definition = this.model.typeDefinition(name);
    if (definition === undefined || definition.kind === 'primitive') return undefined;
    if (definition.kind === 'resource' && !this.model.isResourceType(name)) return undefined;
    return this.#createObject(name);
  }

  #createObject(name: string, targets?: readonly string[]): GraphQLObjectType {
    const type = new LazyObjectType({
      name,
      description: this.model.typeDefinition(name)?.short ?? null,
      interfaces: () => (this.model.isResourceType(name) ? [this.getType(RESOURCE) as GraphQLInterfaceType] : []),
      fields: {},
    });
    type.fieldMap = lazyFields(this.#fieldsOf(name), (field) => this.#createField(type, field, targets));
    return type;
  }

  /**
   * The interface behind a reference that allows `targets`. Beside the elements all resources share it has those of the
   * targets, so that they can be selected without a fragment, as FHIR GraphQL allows: in dialect `standard` those on which
   * the targets agree.
   */
  #createResource(targets: readonly string[] | undefined): GraphQLInterfaceType {
    const type = new LazyInterfaceType({ name: RESOURCE, description: 'Any resource', fields: {} });
    const own = lazyFields([...fieldsOf(this.model, RESOURCE)!.values()], (field) => this.#createField(type, field));
    type.fieldMap = new Proxy(own, {
      get: (fields, name) => {
        if (typeof name !== 'string') return undefined;
        const common = fields[name];
        if (common !== undefined) return common;
        const candidates = (targets ?? this.model.resourceTypes).flatMap(
          (target) => fieldsOf(this.model, target)?.get(name) ?? [],
        );
        const field = this.#createMerged(type, candidates);
        return field === undefined ? undefined : (fields[name] = field);
      },
    });
    return type;
  }

  #createInput(name: string, fields: ReadonlyMap<string, InputField>): GraphQLInputObjectType {
    const type = new LazyInputObjectType({ name, fields: {} });
    type.fieldMap = lazyFields([...fields.values()], (field) => createInputField(name, field, this.#inputType(field)));
    return type;
  }

  #inputType({ type, array, required }: InputField): GraphQLInputType {
    const one = INPUT_SCALARS.get(type) ?? this.#input(type);
    if (array) return new GraphQLList(one);
    return required ? new GraphQLNonNull(one) : one;
  }

  #fieldsOf(name: string): FieldDescriptor[] {
    return [...fieldsOf(this.model, name)!.values()].filter((field) => this.#offers(field));
  }

  /** Base names of choices are there in dialect `hl7` only. */
  #offers({ kind }: FieldDescriptor): boolean {
    return kind !== 'choice' || this.dialect === 'hl7';
  }

  /**
   * The field of one name that objects of several types have.
   *
   * @returns undefined where none has it, or where they differ and only fragments can tell them apart (dialect `standard`)
   */
  #createMerged(
    parent: GraphQLObjectType | GraphQLInterfaceType,
    candidates: readonly FieldDescriptor[],
  ): GraphQLField<unknown, unknown> | undefined {
    const different = new Map(candidates.map((field) => [signature(field), field]));
    const [first, second] = different.values();
    if (first === undefined) return undefined;
    if (second === undefined) return this.#offers(first) ? this.#createField(parent, first) : undefined;
    if (this.dialect !== 'hl7') return undefined;
    const fields = [...different.values()];
    const args = fields.map((field) => argumentsOf(this.model, field, (name) => this.#input(name)));
    return createField(parent.name, first, this.#createChoice(fields), Object.assign({}, ...args));
  }

  /**
   * What fields of different types may be selected with: the fields of any of the complex ones; without selection it is a
   * primitive. What of it an object has is known when its type is.
   */
  #createChoice(forms: readonly FieldDescriptor[]): GraphQLObjectType {
    const type = new LazyObjectType({ name: CHOICE, fields: {} });
    const inner = Map.groupBy(
      forms.flatMap((form) => fieldsInside(this.model, form)),
      ({ name }) => name,
    );
    const named = Array.from(inner, ([name, candidates]) => ({ name, candidates }));
    type.fieldMap = lazyFields(named, ({ candidates }) => this.#createMerged(type, candidates)!);
    return type;
  }

  #createField(
    parent: GraphQLObjectType | GraphQLInterfaceType,
    field: FieldDescriptor,
    targets?: readonly string[],
  ): GraphQLField<unknown, unknown> {
    const args = argumentsOf(this.model, field, (name) => this.#input(name));
    return createField(parent.name, field, this.#typeOf(field, targets), args);
  }

  #typeOf(field: FieldDescriptor, targets: readonly string[] | undefined): GraphQLOutputType {
    switch (field.kind) {
      case 'element':
        return this.#elementType(field.element);
      case 'sibling':
        return listIf(field.element.array, this.#output(field.element.type === 'canonical' ? CANONICAL : 'Element'));
      case 'choice':
        return this.#createChoice([field]);
      case 'resource-type':
        return GraphQLString;
      case 'cache-key':
        return GraphQLID;
      case 'resolve':
        return targets === undefined ? this.#output(RESOURCE) : this.#createResource(targets);
      case 'read':
      case 'write':
        return this.#output(field.type);
      case 'list':
        return new GraphQLList(this.#output(field.type));
      case 'connection':
        return this.#output(`${field.type}Connection`);
      case 'connection-part':
        return this.#connectionPart(field.name, field.type);
      case 'edge-part':
        return field.name === 'resource'
          ? this.#output(field.type)
          : field.name === 'score'
            ? GraphQLFloat
            : GraphQLString;
    }
  }

  #connectionPart(name: ConnectionPart, type: string): GraphQLOutputType {
    switch (name) {
      case 'edges':
        return new GraphQLList(this.#output(`${type}ConnectionEdge`));
      case 'first':
      case 'previous':
      case 'next':
      case 'last':
        return GraphQLString;
      default:
        return GraphQLInt;
    }
  }

  #elementType(element: ElementDefinition): GraphQLOutputType {
    const definition = this.model.typeDefinition(element.type);
    if (definition?.kind === 'primitive') return listIf(element.array, scalarOf(element.type));
    if (element.type === 'Reference') return listIf(element.array, this.#referenceTo(element.targets));
    return listIf(element.array, this.#output(element.type));
  }

  /** `Reference`, knowing what it may lead to. One object per set of targets. */
  #referenceTo(targets: readonly string[] | undefined): GraphQLObjectType {
    if (targets === undefined) return this.#output('Reference') as GraphQLObjectType;
    const key = targets.join();
    let type = this.#references.get(key);
    if (type === undefined) this.#references.set(key, (type = this.#createObject('Reference', targets)));
    return type;
  }

  #output(name: string): GraphQLOutputType {
    return this.getType(name) as GraphQLOutputType;
  }

  #input(name: string): GraphQLInputObjectType {
    return this.getType(name) as GraphQLInputObjectType;
  }
}

class LazyObjectType extends GraphQLObjectType {
  fieldMap: FieldMap = {};
  override getFields(): FieldMap {
    return this.fieldMap;
  }
}

class LazyInterfaceType extends GraphQLInterfaceType {
  fieldMap: FieldMap = {};
  override getFields(): FieldMap {
    return this.fieldMap;
  }
}

class LazyInputObjectType extends GraphQLInputObjectType {
  fieldMap: InputFieldMap = {};
  override getFields(): InputFieldMap {
    return this.fieldMap;
  }
}

/** The definitions of the schema that a document is checked against. */
export function modelOf(context: ValidationContext): FhirModel {
  return (context.getSchema() as FhirSchema).model;
}

/** The fields that can be selected inside a field. */
function fieldsInside(model: FhirModel, field: FieldDescriptor): readonly FieldDescriptor[] {
  switch (field.kind) {
    case 'element':
      return [...(fieldsOf(model, field.element.type)?.values() ?? [])];
    case 'sibling':
      return [...fieldsOf(model, field.element.type === 'canonical' ? CANONICAL : 'Element')!.values()];
    case 'choice':
      return field.elements.flatMap(({ type }) => [...(fieldsOf(model, type)?.values() ?? [])]);
    default:
      return [];
  }
}

function signature(field: FieldDescriptor): string {
  if (field.kind === 'element' || field.kind === 'sibling') {
    return `${field.kind} ${field.element.type} ${field.element.array}`;
  }
  if (field.kind === 'choice') return `choice ${field.elements.map(({ name }) => name).join()}`;
  return `${field.kind} ${'type' in field ? field.type : ''}`;
}

function listIf(array: boolean, type: GraphQLOutputType): GraphQLOutputType {
  return array ? new GraphQLList(type) : type;
}

/** A field object as this version of graphql-js makes them: through a type that has only this field. */
function createField(
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
      },
    },
  });
  return holder.getFields()[field.name]!;
}

/** Likewise for a field of an input type. */
function createInputField(
  parent: string,
  { name, description }: InputField,
  type: GraphQLInputType,
): GraphQLInputField {
  const holder = new GraphQLInputObjectType({ name: parent, fields: { [name]: { type, description } } });
  return holder.getFields()[name]!;
}

/** A field map whose entries come into being when they are read, and are then kept. */
function lazyFields<Descriptor extends { readonly name: string }, Field>(
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

/** Answers for every known name; lists only what suggestions should offer: the resource types. */
function lazyTypeMap(
  model: FhirModel,
  find: (name: string) => GraphQLNamedType | undefined,
): { [name: string]: GraphQLNamedType } {
  return new Proxy(Object.create(null) as { [name: string]: GraphQLNamedType }, {
    get: (_, name) => (typeof name === 'string' ? find(name) : undefined),
    has: (_, name) => typeof name === 'string' && find(name) !== undefined,
    ownKeys: () => [...model.resourceTypes],
    getOwnPropertyDescriptor: (_, name) => {
      const value = typeof name === 'string' ? find(name) : undefined;
      return value === undefined ? undefined : { enumerable: true, configurable: true, value };
    },
  });
}
