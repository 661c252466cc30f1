import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { getOrCreate } from '../../platform/collections.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import type { Dialect } from '../dialect.js';
import type { ValidationContext } from '../graphql-js-validation.js';
import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  type GraphQLField,
  GraphQLFloat,
  GraphQLID,
  type GraphQLInputObjectType,
  GraphQLInt,
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  GraphQLString,
  specifiedDirectives,
} from '../graphql-js.js';
import { argumentsOf } from './arguments.js';
import { type SchemaTypes, typeOfField, typeOfInputField } from './field-type.js';
import {
  CANONICAL,
  changeOf,
  CHOICE,
  connectionOf,
  type FieldDescriptor,
  fieldsOf,
  MUTATION,
  QUERY,
  RESOURCE,
  SUBSCRIPTIONS,
} from './fields.js';
import { fieldName } from './host/host-schema.js';
import { createHostType } from './host/host-types.js';
import { hostOf } from './host/service-model.js';
import { type InputField, inputFieldsOf, inputNamedByMedplum, JSON_VALUE, RESOURCE_INPUT } from './input-fields.js';
import { INPUT_SCALARS } from './input-scalars.js';
import {
  createField,
  createInputField,
  lazyFields,
  LazyInputObjectType,
  LazyInterfaceType,
  LazyObjectType,
  lazyTypeMap,
} from './lazy-types.js';
import { variableLeaf } from './leaf-types.js';
import { RESOURCE_TYPE_NAME, SEARCH_PARAMETER_NAME } from './scalars.js';

/** The resource types that a `Reference`, or the `Resource` behind it, may be; undefined for any. */
export function referenceTargets(type: GraphQLNamedType): readonly string[] | undefined {
  return type instanceof LazyObjectType || type instanceof LazyInterfaceType ? type.targets : undefined;
}

/**
 * The GraphQL schema of FHIR R4, completed type by type as queries touch it.
 *
 * graphql-js builds a schema by walking every reachable type. Here that would be about 1,500 types and 60,000 fields for
 * a query that needs five, so this class creates types, and each of their fields, from the definitions on first use. It
 * serves validation; execution never walks it.
 */
export class FhirSchema extends GraphQLSchema {
  readonly #root: string;
  readonly #types = new Map<string, GraphQLNamedType>();
  readonly #references = new Map<string, GraphQLObjectType>();
  readonly #typeMap: { [name: string]: GraphQLNamedType };
  readonly #source: SchemaTypes;

  /** @param root `Query`, or a resource type for queries about one instance (https://hl7.org/fhir/R4/graphql.html#instance). */
  constructor(
    readonly model: FhirModel,
    private readonly dialect: Dialect,
    root: string = QUERY,
  ) {
    // The definitions guarantee validity, so graphql-js need not validate the schema.
    super({ assumeValid: true, directives: DIRECTIVES });
    this.#root = root;
    this.#source = {
      model,
      output: (name) => this.getType(name) as GraphQLOutputType,
      reference: (targets) => this.#referenceTo(targets),
    };
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

  override getSubscriptionType(): GraphQLObjectType {
    return this.getType(SUBSCRIPTIONS) as GraphQLObjectType;
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
    // The constructor of the base class calls this before the fields of this class are initialized.
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
    const added = hostOf(this.model)?.types.get(name);
    if (added !== undefined) {
      return added.kind === 'object' ? this.#createObject(name) : createHostType(added, (type) => this.#input(type));
    }
    const inputs = inputFieldsOf(this.model, name);
    if (inputs !== undefined) return this.#createInput(name, inputs);
    const own = inputNamedByMedplum(this.model, name);
    if (own !== undefined) return this.getType(own);
    if (ROOTS.has(name) || name === CANONICAL || connectionOf(this.model, name) !== undefined)
      return this.#createObject(name);
    if (changeOf(this.model, name) !== undefined) return this.#createObject(name);
    if (extensionFieldsOf(this.model).type(name) !== undefined) return this.#createObject(name);
    const definition = this.model.typeDefinition(name);
    if (definition === undefined || definition.kind === 'primitive') return variableLeaf(this.model, name);
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
    type.targets = targets;
    type.fieldMap = lazyFields(this.#fieldsOf(name), (field) => this.#createField(type, field, targets));
    return type;
  }

  /**
   * The interface behind a reference that allows `targets`. In addition to the elements of all resources it has those
   * of the targets, so that they can be selected without a fragment, as FHIR GraphQL allows; in dialect `standard` only
   * those on which the targets agree.
   */
  #createResource(targets: readonly string[] | undefined): GraphQLInterfaceType {
    const type = new LazyInterfaceType({ name: RESOURCE, description: 'Any resource', fields: {} });
    type.targets = targets;
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
    type.fieldMap = lazyFields([...fields.values()], (field) =>
      createInputField(
        name,
        field,
        typeOfInputField(field, (type) => INPUT_SCALARS.get(type) ?? this.#input(type)),
      ),
    );
    return type;
  }

  #fieldsOf(name: string): FieldDescriptor[] {
    return [...fieldsOf(this.model, name)!.values()].filter((field) => this.#offers(field));
  }

  /** Base names of choices exist in dialect `hl7` only. */
  #offers({ kind }: FieldDescriptor): boolean {
    return kind !== 'choice' || this.dialect === 'hl7';
  }

  /**
   * The field with this name that several types share.
   *
   * @returns undefined if no type has it, or if the types differ (dialect `standard`), so that a fragment is needed
   */
  #createMerged(
    parent: GraphQLObjectType | GraphQLInterfaceType,
    candidates: readonly FieldDescriptor[],
  ): GraphQLField<unknown, unknown> | undefined {
    const different = new Map(candidates.map((field) => [signatureOf(field), field]));
    const [first, second] = different.values();
    if (first === undefined) return undefined;
    if (second === undefined) return this.#offers(first) ? this.#createField(parent, first) : undefined;
    if (this.dialect !== 'hl7') return undefined;
    const fields = [...different.values()];
    const args = fields.map((field) => argumentsOf(this.model, field, (name) => this.#input(name)));
    return createField(parent.name, first, this.#createChoice(fields), Object.assign({}, ...args));
  }

  /**
   * The type of a choice: the fields of all its complex forms; without a selection it is a primitive. The data decides
   * which fields exist.
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
    if (field.kind === 'choice') return this.#createChoice([field]);
    if (field.kind === 'resolve' && targets !== undefined) return this.#createResource(targets);
    return typeOfField(field, this.#source);
  }

  /** `Reference` with possible target types. One object per set of targets. */
  #referenceTo(targets: readonly string[] | undefined): GraphQLObjectType {
    if (targets === undefined) return this.getType('Reference') as GraphQLObjectType;
    const key = targets.join();
    return getOrCreate(this.#references, key, () => this.#createObject('Reference', targets));
  }

  #input(name: string): GraphQLInputObjectType {
    return this.getType(name) as GraphQLInputObjectType;
  }
}

const ROOTS: ReadonlySet<string> = new Set([QUERY, MUTATION, SUBSCRIPTIONS]);

/** The definitions of the schema under validation. */
export function modelOf(context: ValidationContext): FhirModel {
  return (context.getSchema() as FhirSchema).model;
}

/** The fields that can be selected inside a field. */
function fieldsInside(model: FhirModel, field: FieldDescriptor): readonly FieldDescriptor[] {
  switch (field.kind) {
    case 'element':
      return [...(fieldsOf(model, field.element.type)?.values() ?? [])];
    case 'extension':
      return [...(fieldsOf(model, field.shape.type)?.values() ?? [])];
    case 'sibling':
      return [...fieldsOf(model, field.element.type === 'canonical' ? CANONICAL : 'Element')!.values()];
    case 'choice':
      return field.elements.flatMap(({ type }) => [...(fieldsOf(model, type)?.values() ?? [])]);
    default:
      return [];
  }
}

/** Equal for fields of several types that accept the same selection. */
function signatureOf(field: FieldDescriptor): string {
  if (field.kind === 'element' || field.kind === 'sibling') {
    return `${field.kind} ${field.element.type} ${field.element.array}`;
  }
  if (field.kind === 'extension') return `extension ${field.shape.url} ${field.shape.type} ${field.shape.array}`;
  if (field.kind === 'choice') return `choice ${field.elements.map(({ name }) => name).join()}`;
  if (field.kind === 'host') return `host ${fieldName(field.field)}`;
  return `${field.kind} ${'type' in field ? field.type : ''}`;
}

/** One schema per dialect and root: `Query`, and the resource types of queried instances. */
const SCHEMAS = perModel(() => new Map<string, FhirSchema>());

/** The schema of a dialect whose root fields are those of `root`. */
export function schemaFor(model: FhirModel, dialect: Dialect, root: string): FhirSchema {
  const key = `${dialect} ${root}`;
  const schemas = SCHEMAS(model);
  return getOrCreate(schemas, key, () => new FhirSchema(model, dialect, root));
}

/** Directives that reshape the response. See https://hl7.org/fhir/R4/graphql.html#flattening. */
const SHAPING_DIRECTIVES: readonly GraphQLDirective[] = [
  new GraphQLDirective({
    name: 'flatten',
    description: 'Leaves the field itself out and puts its fields into the object around it',
    locations: [DirectiveLocation.FIELD],
  }),
  new GraphQLDirective({
    name: 'first',
    description: 'Takes the first item only, after the filters',
    locations: [DirectiveLocation.FIELD],
  }),
  new GraphQLDirective({
    name: 'singleton',
    description: 'Gives a single value where flattening would give a list; an error if there are several',
    locations: [DirectiveLocation.FIELD],
  }),
  new GraphQLDirective({
    name: 'slice',
    description: 'Splits a list by a FHIRPath expression and appends its result to the name with a dot; $index counts',
    locations: [DirectiveLocation.FIELD],
    args: {
      path: { type: GraphQLString, description: 'The FHIRPath expression, or $index' },
      fhirpath: { type: GraphQLString, description: 'The same as path' },
    },
  }),
];

/** All directives of the schema. */
export const DIRECTIVES: readonly GraphQLDirective[] = [...specifiedDirectives, ...SHAPING_DIRECTIVES];
