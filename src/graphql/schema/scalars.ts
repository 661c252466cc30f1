import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  GraphQLScalarType,
  GraphQLString,
  Kind,
  type ValueNode,
} from '../graphql-js.js';

/**
 * The GraphQL scalar of a FHIR primitive: one of the five standard scalars, so that one selection fits elements of
 * several types and generated types need no configuration. See https://hl7.org/fhir/R4/datatypes.html#primitive.
 */
export function scalarOf(primitive: string): GraphQLScalarType {
  return SCALARS[primitive] ?? GraphQLString;
}

const SCALARS: { readonly [primitive: string]: GraphQLScalarType } = Object.assign(
  Object.create(null) as Record<string, GraphQLScalarType>,
  {
    boolean: GraphQLBoolean,
    integer: GraphQLInt,
    positiveInt: GraphQLInt,
    unsignedInt: GraphQLInt,
    decimal: GraphQLFloat,
    id: GraphQLID,
  },
);

/**
 * `String` and `ID` as arguments: tokens, booleans and numbers are accepted as strings, as in FHIR GraphQL's own
 * examples (`Patient(id: example)`, `name(use: official)`, `PatientList(active: true)`).
 */
export const LENIENT_STRING = lenient('String', ['string', 'token', 'boolean', 'number']);
export const LENIENT_ID = lenient('ID', ['string', 'token', 'number']);
/** `String` as the filter of an element, where a list means any of its values. */
export const LENIENT_STRINGS = lenient('String', ['string', 'token', 'boolean', 'number', 'list']);
/** Names of search parameters in `_reference`, with `-` or `_`. */
export const SEARCH_PARAMETER_NAME = lenient(
  'SearchParameterName',
  ['string', 'token'],
  'The name of a search parameter, with - or _',
);
/** Names of resource types in `resource(type:)`. */
export const RESOURCE_TYPE_NAME = lenient('ResourceTypeName', ['string', 'token'], 'The name of a resource type');

/** True for the scalars above: they also accept variables of any built-in scalar type. */
export function isLenientScalar(type: unknown): boolean {
  return LENIENT.has(type);
}

const LENIENT: ReadonlySet<unknown> = new Set([
  LENIENT_STRING,
  LENIENT_STRINGS,
  LENIENT_ID,
  SEARCH_PARAMETER_NAME,
  RESOURCE_TYPE_NAME,
]);

type LiteralKind = 'string' | 'token' | 'boolean' | 'number' | 'list';

function lenient(name: string, accepted: readonly LiteralKind[], description?: string): GraphQLScalarType {
  return new GraphQLScalarType({
    name,
    ...(description === undefined ? {} : { description }),
    parseValue: (value) => {
      if (['string', 'boolean', 'number'].includes(typeof value)) return value;
      throw new GraphQLError(`${name} cannot represent this value; expected a string, a boolean or a number.`);
    },
    parseLiteral: (node) => {
      const kinds =
        node.kind === Kind.LIST ? (['list', ...node.values.flatMap(itemKind)] as const) : [literalKind(node)];
      if (!kinds.every((kind) => kind !== undefined && accepted.includes(kind))) {
        throw new GraphQLError(`${name} cannot represent this value; expected one of: ${accepted.join(', ')}.`, {
          nodes: node,
        });
      }
      return 'value' in node ? node.value : null;
    },
  });
}

/** Variables and nulls in a list are checked elsewhere. */
function itemKind(node: ValueNode): readonly (LiteralKind | undefined)[] {
  return node.kind === Kind.VARIABLE || node.kind === Kind.NULL ? [] : [literalKind(node)];
}

function literalKind(node: ValueNode): LiteralKind | undefined {
  switch (node.kind) {
    case Kind.STRING:
      return 'string';
    case Kind.ENUM:
      return 'token';
    case Kind.BOOLEAN:
      return 'boolean';
    case Kind.INT:
    case Kind.FLOAT:
      return 'number';
    default:
      return undefined;
  }
}
