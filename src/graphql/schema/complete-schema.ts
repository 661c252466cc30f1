import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages/quote.js';
import {
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  type GraphQLFieldConfig,
  GraphQLFloat,
  GraphQLID,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  isListType,
  isNonNullType,
} from '../graphql-js.js';
import { argumentsOf, SEARCH_CONTROLS } from './arguments.js';
import { descriptionOf, fieldDescription } from './descriptions.js';
import { DIRECTIVES } from './directives.js';
import { typeOfField, typeOfInputField, type SchemaTypes } from './field-type.js';
import { fieldsOf, MUTATION, QUERY, RESOURCE, type FieldDescriptor } from './fields.js';
import { inputFieldsOf, PATCH_OPERATION, typeOfInput, type InputField } from './input-fields.js';
import { INPUT_SCALARS } from './input-scalars.js';
import { LENIENT_ID, LENIENT_STRING, LENIENT_STRINGS } from './scalars.js';

type FieldConfigs = { [name: string]: GraphQLFieldConfig<unknown, unknown> };

/**
 * The whole schema as graphql-js builds them, for tools: introspection and SDL. Queries are checked against
 * `FhirSchema`, which is built from the same descriptors and accepts more: tokens and numbers in place of strings,
 * `_id` for the `id` of a read, fields directly on `resource`, in dialect `hl7` choices by their base names.
 *
 * @param types resource types to keep, in the root and behind references; undefined: all
 * @throws FhirError `invalid` - one of them is not a resource type
 */
export function completeSchema(model: FhirModel, types?: readonly string[]): GraphQLSchema {
  const unknown = types?.find((type) => !model.isResourceType(type));
  if (unknown !== undefined) throw new FhirError('invalid', `Unknown resource type ${quote(unknown)}`);
  return new SchemaBuilder(model, new Set(types ?? model.resourceTypes)).build();
}

class SchemaBuilder {
  readonly #types = new Map<string, GraphQLObjectType>();
  readonly #inputs = new Map<string, GraphQLInputObjectType>();
  readonly #resource: GraphQLInterfaceType;
  readonly #source: SchemaTypes;

  constructor(
    private readonly model: FhirModel,
    private readonly kept: ReadonlySet<string>,
  ) {
    this.#resource = new GraphQLInterfaceType({
      name: RESOURCE,
      description: 'Any resource: the elements that all types share',
      fields: () => this.#fields(RESOURCE),
    });
    this.#source = {
      model,
      output: (name) => (name === RESOURCE ? this.#resource : this.#object(name)),
      reference: () => this.#object('Reference'),
    };
  }

  build(): GraphQLSchema {
    return new GraphQLSchema({
      query: this.#object(QUERY),
      mutation: this.#object(MUTATION),
      // Types in the order of the definitions, whichever is reached first.
      types: [...this.kept].map((type) => this.#object(type)),
      directives: DIRECTIVES,
      // Tests prove its validity; validating takes as long as building it.
      assumeValid: true,
    });
  }

  #object(name: string): GraphQLObjectType {
    let type = this.#types.get(name);
    if (type === undefined) {
      type = new GraphQLObjectType({
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
      if (field.kind === 'choice' || !this.#keeps(field)) continue;
      configs[field.name] = {
        type: typeOfField(field, this.#source),
        args: strictArguments(this.#argumentsOf(field, name), isDescribed(field)),
        description: fieldDescription(field),
      };
    }
    return configs;
  }

  /**
   * Some 80 search parameters point to resources of any type, so that every type has 40 lists of what points to it by
   * one of these. Their search parameters would be 90 % of the schema; `_filter` is equivalent.
   */
  #argumentsOf(field: FieldDescriptor, parent: string): ReturnType<typeof argumentsOf> {
    const all = argumentsOf(this.model, field, (name) => this.#input(name));
    // Queries may use `_id` instead, so the engine requires neither; tools see the name in the specification only.
    if (field.kind === 'read') return { id: { ...all['id']!, type: new GraphQLNonNull(LENIENT_ID) } };
    if ((field.kind !== 'list' && field.kind !== 'connection') || !field.reverse) return all;
    if (this.kept.size <= MANY || isMeantFor(this.model, parent, field.type)) return all;
    return Object.fromEntries(Object.entries(all).filter(([name]) => SEARCH_CONTROLS.has(name)));
  }

  #keeps(field: FieldDescriptor): boolean {
    return ROOTED.has(field.kind) && 'type' in field ? this.kept.has(field.type) : true;
  }

  /** Input types mirror the fields and descriptions of the output types. */
  #input(name: string): GraphQLInputObjectType {
    let type = this.#inputs.get(name);
    if (type === undefined) {
      const fields = [...inputFieldsOf(this.model, name)!.values()];
      type = new GraphQLInputObjectType({
        name,
        description:
          name === PATCH_OPERATION
            ? 'One operation of a JSON Patch'
            : `${typeOfInput(this.model, name)!}, to be written`,
        fields: () => Object.fromEntries(fields.map((field) => [field.name, this.#inputField(name, field)])),
      });
      this.#inputs.set(name, type);
    }
    return type;
  }

  #inputField(parent: string, field: InputField): GraphQLInputFieldConfig {
    const type = typeOfInputField(field, (name) => SCALARS.get(name) ?? INPUT_SCALARS.get(name) ?? this.#input(name));
    return parent === PATCH_OPERATION ? { type, description: field.description } : { type };
  }
}

/** Up to this many types need no reduction. */
const MANY = 20;

/** Whether a reference parameter of `type` names the target, rather than any resource. */
function isMeantFor(model: FhirModel, target: string, type: string): boolean {
  return [...model.searchParameters(type).values()].some(
    ({ type: kind, targets }) => kind === 'reference' && targets?.includes(target) === true,
  );
}

/** Fields about a resource type, present only with the type. */
const ROOTED: ReadonlySet<string> = new Set<FieldDescriptor['kind']>(['read', 'write', 'list', 'connection']);

/** The scalars known to all tools. */
const SCALARS = new Map(
  [GraphQLString, GraphQLID, GraphQLInt, GraphQLFloat, GraphQLBoolean].map((scalar) => [scalar.name, scalar]),
);

/** Root arguments of the same name are described once; a filter is named after its element. */
function isDescribed(field: FieldDescriptor): boolean {
  return field.kind !== 'element' && !('reverse' in field && field.reverse);
}

/** Replaces lenient scalars with those known to tools. */
function strictArguments(
  args: { readonly [name: string]: GraphQLArgumentConfig },
  described: boolean,
): { [name: string]: GraphQLArgumentConfig } {
  const configs: { [name: string]: GraphQLArgumentConfig } = {};
  for (const [name, { type, description }] of Object.entries(args)) {
    configs[name] = described ? { type: strict(type), description } : { type: strict(type) };
  }
  return configs;
}

function strict(type: GraphQLInputType): GraphQLInputType {
  if (isNonNullType(type)) return new GraphQLNonNull(strict(type.ofType) as never);
  if (isListType(type)) return new GraphQLList(strict(type.ofType));
  if (type === LENIENT_STRING || type === LENIENT_STRINGS) return GraphQLString;
  return type === LENIENT_ID ? GraphQLID : type;
}
