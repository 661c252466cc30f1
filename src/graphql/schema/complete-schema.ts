import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { inOneGo, inTurns, Pace } from '../../platform/pace.js';
import {
  getNamedType,
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  type GraphQLDirective,
  type GraphQLFieldConfig,
  GraphQLFloat,
  GraphQLID,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  GraphQLString,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from '../graphql-js.js';
import { argumentsOf } from './arguments.js';
import { descriptionOf, fieldDescription } from './descriptions.js';
import { type SchemaTypes, typeOfField, typeOfInputField } from './field-type.js';
import { type FieldDescriptor, fieldsOf, MUTATION, QUERY, RESOURCE, SUBSCRIPTIONS } from './fields.js';
import { createHostType } from './host/host-types.js';
import { hostOf } from './host/service-model.js';
import { type InputField, inputFieldsOf, PATCH_OPERATION, typeOfInput } from './input-fields.js';
import { INPUT_SCALARS } from './input-scalars.js';
import { type LeafOptions, leafType, withLeaf } from './leaf-types.js';
import { LENIENT_ID, LENIENT_STRING, LENIENT_STRINGS } from './scalars.js';
import { type DetailRules, type SchemaDetail, showsArgument, showsField } from './schema-detail.js';
import { DIRECTIVES } from './schema.js';

type FieldConfigs = { [name: string]: GraphQLFieldConfig<unknown, unknown> };

/**
 * The complete schema as graphql-js objects, for tools: introspection and SDL. Queries are checked against
 * `FhirSchema`, which is built from the same descriptors and accepts more: tokens and numbers in place of strings,
 * `_id` for the `id` of a read, fields directly on `resource`, in dialect `hl7` choices by their base names.
 *
 * @param types resource types to keep, in the root and behind references; undefined: all
 * @param detail how much of their fields and arguments is shown
 * @param leaves the types of primitive values
 * @param directives default: with those that reshape answers
 * @throws FhirError `invalid` - one of them is not a resource type
 */
export function completeSchema(
  model: FhirModel,
  types?: readonly string[],
  detail: SchemaDetail = 'whole',
  leaves: LeafOptions = {},
  directives: readonly GraphQLDirective[] = DIRECTIVES,
): GraphQLSchema {
  return inOneGo(builderFor(model, types, detail, leaves).building(directives));
}

function builderFor(
  model: FhirModel,
  types?: readonly string[],
  detail: SchemaDetail = 'whole',
  leaves: LeafOptions = {},
): SchemaBuilder {
  const unknown = types?.find((type) => !model.isResourceType(type));
  if (unknown !== undefined) throw new FhirError('invalid', `Unknown resource type ${quote(unknown)}`);
  return new SchemaBuilder(model, new Set(types ?? model.resourceTypes), detail, leaves);
}

/** {@link completeSchema}, built in turns with other work: all types take about 400 ms. */
export async function completeSchemaInTurns(...given: Parameters<typeof completeSchema>): Promise<GraphQLSchema> {
  const [model, types, detail, leaves, directives = DIRECTIVES] = given;
  return inTurns(builderFor(model, types, detail, leaves).building(directives), new Pace());
}

class SchemaBuilder {
  readonly #types = new Map<string, GraphQLObjectType>();
  readonly #inputs = new Map<string, GraphQLInputObjectType>();
  readonly #added = new Map<string, GraphQLNamedType>();
  readonly #resource: GraphQLInterfaceType;
  readonly #source: SchemaTypes;
  readonly #rules: DetailRules;

  constructor(
    private readonly model: FhirModel,
    private readonly kept: ReadonlySet<string>,
    detail: SchemaDetail,
    private readonly leaves: LeafOptions,
  ) {
    this.#rules = { model, detail, types: kept.size };
    this.#resource = new CollectedInterfaceType({
      name: RESOURCE,
      description: 'Any resource: the elements that all types share',
      fields: () => this.#fields(RESOURCE),
    });
    this.#source = {
      model,
      output: (name) => (name === RESOURCE ? this.#resource : (this.#leaf(name) ?? this.#object(name))),
      reference: () => this.#object('Reference'),
    };
  }

  /** Builds the schema in steps. */
  *building(directives: readonly GraphQLDirective[]): Generator<void, GraphQLSchema> {
    const query = this.#object(QUERY);
    const mutation = this.#object(MUTATION);
    const subscription = this.#object(SUBSCRIPTIONS);
    // Types in the order of the definitions, not in the order in which queries reach them.
    const kept = [...this.kept].map((type) => this.#object(type));
    const types = yield* collectTypes(kept, [query, mutation, subscription]);
    yield;
    return schemaOfCollected({
      query,
      mutation,
      subscription,
      types,
      directives,
      // Tests prove its validity; validating takes as long as building it.
      assumeValid: true,
    });
  }

  #object(name: string): GraphQLObjectType {
    let type = this.#types.get(name);
    if (type === undefined) {
      type = new CollectedObjectType({
        name,
        description: descriptionOf(this.model, name),
        interfaces: this.model.isResourceType(name) ? [this.#resource] : [],
        fields: () => this.#fields(name),
      });
      this.#types.set(name, type);
    }
    return type;
  }

  #fields(name: string): FieldConfigs {
    const configs: FieldConfigs = {};
    for (const field of fieldsOf(this.model, name)!.values()) {
      if (field.kind === 'choice' || !this.#keeps(field) || !showsField(this.#rules, name, field)) continue;
      configs[field.name] = {
        type: withLeaf(typeOfField(field, this.#source), this.#leafOf(field)),
        args: this.#withLeaves(strictArguments(this.#argumentsOf(field, name)), field),
        description: field.kind === 'sibling' && this.#rules.detail === 'brief' ? undefined : fieldDescription(field),
        ...(field.kind === 'host' ? { deprecationReason: field.field.deprecationReason ?? null } : {}),
      };
    }
    return configs;
  }

  #argumentsOf(field: FieldDescriptor, parent: string): ReturnType<typeof argumentsOf> {
    const all = argumentsOf(this.model, field, (name) => (this.#leaf(name) ?? this.#input(name)) as never);
    // Queries may use `_id` instead, so the engine requires neither; tools see the name in the specification only.
    if (field.kind === 'read') return { id: { ...all['id']!, type: new GraphQLNonNull(LENIENT_ID) } };
    const shows = showsArgument(this.#rules, parent, field);
    const shown = Object.entries(all).filter(([name]) => shows(name));
    const isDescribed = this.#rules.detail === 'whole' || !(field.kind === 'element' || repeatsList(field));
    if (isDescribed) return Object.fromEntries(shown);
    return Object.fromEntries(shown.map(([name, { description: _, ...argument }]) => [name, argument]));
  }

  #keeps(field: FieldDescriptor): boolean {
    return ROOTED.has(field.kind) && 'type' in field ? this.kept.has(field.type) : true;
  }

  /** Scalars, and the enums, scalars and inputs of the host. */
  #leaf(name: string): (GraphQLOutputType & GraphQLInputType) | undefined {
    const scalar = SCALARS.get(name) ?? INPUT_SCALARS.get(name);
    if (scalar !== undefined) return scalar;
    const added = hostOf(this.model)?.types.get(name);
    if (added === undefined || added.kind === 'object') return undefined;
    let type = this.#added.get(name);
    if (type === undefined) {
      this.#added.set(name, (type = createHostType(added, (inner) => this.#leaf(inner) ?? this.#input(inner))));
    }
    return type as GraphQLOutputType & GraphQLInputType;
  }

  /** Input types mirror the fields and, unless brief, the descriptions of the output types. */
  #input(name: string): GraphQLInputObjectType {
    let type = this.#inputs.get(name);
    if (type === undefined) {
      type = new CollectedInputObjectType({
        name,
        description:
          name === PATCH_OPERATION
            ? 'One operation of a JSON Patch'
            : `${typeOfInput(this.model, name)!}, to be written`,
        fields: () => this.#inputFields(name),
      });
      this.#inputs.set(name, type);
    }
    return type;
  }

  /** The leaf type according to the options; undefined: the standard scalar. */
  #leafOf(field: FieldDescriptor | undefined): ReturnType<typeof leafType> {
    const element =
      field?.kind === 'element' ? field.element : field?.kind === 'extension' ? field.shape.value : undefined;
    return element === undefined ? undefined : leafType(this.model, element, this.leaves);
  }

  /** Filters have the types of the elements that they compare. */
  #withLeaves(args: { [name: string]: GraphQLArgumentConfig }, field: FieldDescriptor): typeof args {
    const type =
      field.kind === 'element' ? field.element.type : field.kind === 'extension' ? field.shape.type : undefined;
    const inner = type === undefined ? undefined : fieldsOf(this.model, type);
    if (inner === undefined) return args;
    return Object.fromEntries(
      Object.entries(args).map(([name, arg]) => [
        name,
        { ...arg, type: withLeaf(arg.type, this.#leafOf(inner.get(name))) },
      ]),
    );
  }

  #inputFields(name: string): { [field: string]: GraphQLInputFieldConfig } {
    const fields = [...inputFieldsOf(this.model, name)!.values()];
    return Object.fromEntries(fields.map((field) => [field.name, this.#inputField(name, field)]));
  }

  #inputField(parent: string, field: InputField): GraphQLInputFieldConfig {
    const type = typeOfInputField(field, (name) => SCALARS.get(name) ?? INPUT_SCALARS.get(name) ?? this.#input(name));
    const written = typeOfInput(this.model, parent);
    const element = written === undefined ? undefined : fieldsOf(this.model, written)?.get(field.name);
    const description = this.#rules.detail === 'whole' ? field.description : undefined;
    return { type: withLeaf(type, this.#leafOf(element)), description };
  }
}

/** Whether another list at the root has the same parameters. */
function repeatsList(field: FieldDescriptor): boolean {
  return field.kind === 'connection' || (field.kind === 'list' && field.reverse);
}

/** Fields about a resource type, present only with the type. */
const ROOTED: ReadonlySet<string> = new Set<FieldDescriptor['kind']>([
  'read',
  'write',
  'list',
  'connection',
  'changes',
]);

/** The scalars known to all tools. */
const SCALARS = new Map(
  [GraphQLString, GraphQLID, GraphQLInt, GraphQLFloat, GraphQLBoolean].map((scalar) => [scalar.name, scalar]),
);

/** Replaces lenient scalars with those known to tools. */
function strictArguments(args: { readonly [name: string]: GraphQLArgumentConfig }): {
  [name: string]: GraphQLArgumentConfig;
} {
  const configs: { [name: string]: GraphQLArgumentConfig } = {};
  for (const [name, arg] of Object.entries(args)) {
    configs[name] = { ...arg, type: strict(arg.type) };
  }
  return configs;
}

function strict(type: GraphQLInputType): GraphQLInputType {
  if (isNonNullType(type)) return new GraphQLNonNull(strict(type.ofType) as never);
  if (isListType(type)) return new GraphQLList(strict(type.ofType));
  if (type === LENIENT_STRING || type === LENIENT_STRINGS) return GraphQLString;
  return type === LENIENT_ID ? GraphQLID : type;
}

/**
 * All types that these reach, in the order in which graphql-js finds them. In steps, one for each type, because
 * defining the fields of all types is most of the work of building a schema.
 *
 * @param first types that keep their order
 * @param roots further types
 */
function* collectTypes(
  first: readonly GraphQLNamedType[],
  roots: readonly GraphQLNamedType[],
): Generator<void, readonly GraphQLNamedType[]> {
  const found = new Set(first);
  for (const type of first) {
    // Keeps the order: a type that was reached early moves to its later place.
    found.delete(type);
    yield* addReached([type], found);
  }
  yield* addReached(roots, found);
  return [...found];
}

function* addReached(roots: readonly GraphQLNamedType[], found: Set<GraphQLNamedType>): Generator<void> {
  // A stack, as deep as the recursion of graphql-js.
  const open = [roots.values()];
  for (let types = open.at(-1); types !== undefined; types = open.at(-1)) {
    const { value: type, done } = types.next();
    if (done === true) open.pop();
    else if (!found.has(type)) {
      yield;
      found.add(type);
      open.push(typesIn(type).values());
    }
  }
}

function typesIn(type: GraphQLNamedType): readonly GraphQLNamedType[] {
  if (isInputObjectType(type)) return Object.values(type.getFields()).map((field) => getNamedType(field.type));
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  const types: GraphQLNamedType[] = [...type.getInterfaces()];
  for (const field of Object.values(type.getFields())) {
    types.push(getNamedType(field.type));
    for (const arg of field.args) types.push(getNamedType(arg.type));
  }
  return types;
}

/** While it is true, types show no fields, so that the constructor of a schema does not look for their types again. */
let areTypesCollected = false;

/** A schema of types that {@link collectTypes} found. */
function schemaOfCollected(config: ConstructorParameters<typeof GraphQLSchema>[0]): GraphQLSchema {
  areTypesCollected = true;
  try {
    return new GraphQLSchema(config);
  } finally {
    areTypesCollected = false;
  }
}

class CollectedObjectType extends GraphQLObjectType {
  override getFields(): ReturnType<GraphQLObjectType['getFields']> {
    return areTypesCollected ? {} : super.getFields();
  }
}

class CollectedInterfaceType extends GraphQLInterfaceType {
  override getFields(): ReturnType<GraphQLInterfaceType['getFields']> {
    return areTypesCollected ? {} : super.getFields();
  }
}

class CollectedInputObjectType extends GraphQLInputObjectType {
  override getFields(): ReturnType<GraphQLInputObjectType['getFields']> {
    return areTypesCollected ? {} : super.getFields();
  }
}
