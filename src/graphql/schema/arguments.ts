import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { GraphQLBoolean, GraphQLFloat, GraphQLInt, GraphQLList, GraphQLNonNull, GraphQLString } from '../graphql-js.js';
import type { GraphQLArgumentConfig, GraphQLInputObjectType, GraphQLInputType } from '../graphql-js.js';
import { argumentName, fieldsOf, type FieldDescriptor } from './fields.js';
import { fieldDescription } from './descriptions.js';
import { hostArguments } from './host/host-types.js';
import { inputTypeName, PATCH_OPERATION } from './input-fields.js';
import {
  LENIENT_ID,
  LENIENT_STRING,
  LENIENT_STRINGS,
  RESOURCE_TYPE_NAME,
  scalarOf,
  SEARCH_PARAMETER_NAME,
} from './scalars.js';

type Arguments = { [name: string]: GraphQLArgumentConfig };

const STRINGS = new GraphQLList(LENIENT_STRING);

/** An argument with a meaning of its own, beside search parameters and elements. */
interface Control extends GraphQLArgumentConfig {
  /** `texts`: one or a list of them; `number`: from 0 up; `expression`: FHIRPath. */
  readonly kind: 'texts' | 'number' | 'expression';
}

/**
 * The arguments of lists and connections beside search parameters. Schema, validation, plan, execution and the check of
 * documents read this table, so that a new argument is a row here and its meaning in `searchArguments`.
 */
export const LIST_CONTROLS = {
  _filter: { kind: 'texts', type: STRINGS, description: 'A _filter expression' },
  _sort: { kind: 'texts', type: STRINGS, description: 'Parameters to sort by, with - for descending' },
  _count: { kind: 'number', type: GraphQLInt, description: 'Page size; without it all matches are given' },
  _offset: { kind: 'number', type: GraphQLInt, description: 'Matches to leave out at the start' },
  fhirpath: {
    kind: 'expression',
    type: LENIENT_STRING,
    description: 'Keeps the matches of the page for which this FHIRPath is true',
  },
} as const satisfies { readonly [name: string]: Control };

/** The arguments of repeating elements beside their filters; their meaning is in `compileItemFilter`. */
export const ITEM_CONTROLS = {
  fhirpath: {
    kind: 'expression',
    type: LENIENT_STRING,
    description: 'Keeps the items for which this FHIRPath is true',
  },
  _offset: { kind: 'number', type: GraphQLInt, description: 'Items to leave out at the start, after the filters' },
  _count: { kind: 'number', type: GraphQLInt, description: 'Most items to keep, after the filters' },
} as const satisfies { readonly [name: string]: Control };

export type ListControl = keyof typeof LIST_CONTROLS;
export type ItemControl = keyof typeof ITEM_CONTROLS;

/** Search arguments other than search parameters. */
export const SEARCH_CONTROLS: ReadonlySet<string> = new Set([
  ...Object.keys(LIST_CONTROLS),
  '_reference',
  'cursor',
  '_cursor',
]);

/** The given ones of the arguments of a table. */
export function controlsIn<Name extends string, Value>(
  table: { readonly [name in Name]: Control },
  given: ReadonlyMap<string, Value>,
): { readonly [name in Name]?: Value } {
  const found: { [name in Name]?: Value } = {};
  for (const name of Object.keys(table) as Name[]) {
    const value = given.get(name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function configsOf(table: { readonly [name: string]: Control }): Arguments {
  return Object.fromEntries(
    Object.entries(table).map(([name, { type, description }]) => [name, { type, description: description! }]),
  );
}

/** False for search parameters that need a full-text index or page geometry, which this service does not have. */
export function isOffered({ type }: SearchParameterDefinition): boolean {
  return type !== 'special';
}

/**
 * The arguments a field takes. See https://hl7.org/fhir/R4/graphql.html#fields, #searching and #mutations.
 *
 * @param inputOf the schema's input type of a name; for arguments of the host scalars and enums, too
 */
export function argumentsOf(
  model: FhirModel,
  field: FieldDescriptor,
  inputOf: (name: string) => GraphQLInputObjectType,
): Arguments {
  switch (field.kind) {
    case 'write':
      return writeArguments(model, field, inputOf);
    case 'read':
      return {
        id: argument(LENIENT_ID, 'The id of the resource'),
        _id: argument(LENIENT_ID, 'The same as id'),
      };
    case 'changes':
      return followArguments(model, field.type);
    case 'list':
      return searchArguments(model, field.type, field.reverse);
    case 'connection':
      return { ...searchArguments(model, field.type, field.reverse), ...(field.reverse ? {} : cursorArguments()) };
    case 'resolve':
      return {
        type: argument(RESOURCE_TYPE_NAME, 'Only a resource of this type; null otherwise'),
        optional: argument(GraphQLBoolean, 'No error where the reference leads nowhere'),
      };
    case 'element':
      return field.element.array ? elementArguments(model, field.element.type) : {};
    case 'host':
      return hostArguments(field.field.args, inputOf);
    case 'extension':
      return field.shape.array ? elementArguments(model, field.shape.type) : {};
    default:
      return {};
  }
}

function writeArguments(
  model: FhirModel,
  { type, interaction }: FieldDescriptor & { kind: 'write' },
  inputOf: (name: string) => GraphQLInputObjectType,
): Arguments {
  const id = argument(new GraphQLNonNull(LENIENT_ID), 'The id of the resource');
  const ifMatch = argument(LENIENT_STRING, 'The version that must be current: 3, or W/"3"');
  const resource = new GraphQLNonNull(inputOf(inputTypeName(model, type)));
  switch (interaction) {
    case 'create':
      return {
        res: argument(resource, 'The resource; an id in it is ignored, the new one is made here'),
        ifNoneExist: argument(LENIENT_STRING, 'Search text: a resource that matches it is answered, nothing created'),
      };
    case 'update':
      return { id, res: argument(resource, 'The resource as a whole'), ifMatch };
    case 'patch': {
      const operations = new GraphQLList(new GraphQLNonNull(inputOf(PATCH_OPERATION)));
      return { id, patch: argument(new GraphQLNonNull(operations), 'A JSON Patch: all operations or none'), ifMatch };
    }
    case 'delete':
      return { id, ifMatch };
  }
}

/** Search parameters in snake_case (values combined with OR, parameters with AND), then the controls. */
function searchArguments(model: FhirModel, type: string, reverse: boolean): Arguments {
  const found: Arguments = {};
  if (reverse) {
    found['_reference'] = argument(
      new GraphQLNonNull(SEARCH_PARAMETER_NAME),
      'The search parameter that points to the resource around this field',
    );
  }
  for (const parameter of model.searchParameters(type).values()) {
    if (!isOffered(parameter)) continue;
    found[argumentName(parameter.code)] = argument(STRINGS, parameter.short);
  }
  return Object.assign(found, configsOf(LIST_CONTROLS));
}

/** Those of a list without order, pages and expressions: what a version alone decides. */
function followArguments(model: FhirModel, type: string): Arguments {
  const found = searchArguments(model, type, false);
  return Object.fromEntries(Object.entries(found).filter(([name]) => name === '_filter' || !SEARCH_CONTROLS.has(name)));
}

/** Only at the root: a cursor contains the target of a reverse connection. */
function cursorArguments(): Arguments {
  return {
    cursor: argument(
      GraphQLString,
      'A page that another answer named; it holds the whole search, so no other argument is needed',
    ),
    _cursor: argument(GraphQLString, 'The same as cursor'),
  };
}

/** Filters of a repeating complex element; primitives take none. */
function elementArguments(model: FhirModel, type: string): Arguments {
  const fields = fieldsOf(model, type);
  if (fields === undefined) return {};
  const found: Arguments = {};
  for (const field of fields.values()) {
    const primitive = filterablePrimitive(model, field);
    if (primitive !== undefined)
      found[field.name] = argument(filterType(primitive), `Only items with this value: ${fieldDescription(field)!}`);
  }
  return Object.assign(found, configsOf(ITEM_CONTROLS));
}

/** @returns the primitive type that an equality filter on the field compares; undefined if there is no such filter. */
export function filterablePrimitive(model: FhirModel, field: FieldDescriptor): string | undefined {
  if (field.kind === 'resource-type') return 'code';
  const type = field.kind === 'element' ? field.element.type : field.kind === 'extension' ? field.shape.type : '';
  return model.typeDefinition(type)?.kind === 'primitive' ? type : undefined;
}

function filterType(primitive: string): GraphQLInputType {
  const scalar = scalarOf(primitive);
  return scalar === GraphQLBoolean || scalar === GraphQLInt || scalar === GraphQLFloat ? scalar : LENIENT_STRINGS;
}

function argument(type: GraphQLInputType, description: string): GraphQLArgumentConfig {
  return { type, description };
}
