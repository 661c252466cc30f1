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

/** Search arguments other than search parameters. */
export const SEARCH_CONTROLS: ReadonlySet<string> = new Set([
  '_count',
  '_offset',
  '_sort',
  '_filter',
  '_reference',
  'fhirpath',
  'cursor',
  '_cursor',
]);

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
  found['_filter'] = argument(STRINGS, 'A _filter expression');
  found['_sort'] = argument(STRINGS, 'Parameters to sort by, with - for descending');
  found['_count'] = argument(GraphQLInt, 'Page size; without it all matches are given');
  found['_offset'] = argument(GraphQLInt, 'Matches to leave out at the start');
  found['fhirpath'] = argument(LENIENT_STRING, 'Keeps the matches of the page for which this FHIRPath is true');
  return found;
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
  found['fhirpath'] = argument(LENIENT_STRING, 'Keeps the items for which this FHIRPath is true');
  found['_offset'] = argument(GraphQLInt, 'Items to leave out at the start, after the filters');
  found['_count'] = argument(GraphQLInt, 'Most items to keep, after the filters');
  return found;
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

const STRINGS = new GraphQLList(LENIENT_STRING);

function argument(type: GraphQLInputType, description: string): GraphQLArgumentConfig {
  return { type, description };
}
