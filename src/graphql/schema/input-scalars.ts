import { isJsonObject } from '../../fhir/resource.js';
import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from '../graphql-js.js';
import { JSON_VALUE, RESOURCE_INPUT } from './input-fields.js';

/**
 * Scalars of resource input, by name. They equal GraphQL's own but accept tokens as strings, as arguments do, and their
 * errors never contain the value, which may be clinical.
 */
export const INPUT_SCALARS: ReadonlyMap<string, GraphQLScalarType> = new Map(
  [
    inputScalar('String'),
    inputScalar('ID'),
    inputScalar('Int'),
    inputScalar('Float'),
    inputScalar('Boolean'),
    inputScalar(JSON_VALUE, 'Any JSON value'),
    inputScalar(RESOURCE_INPUT, 'A resource of any type as a JSON object'),
  ].map((scalar) => [scalar.name, scalar]),
);

/** Coerces an input value; undefined if it does not fit. */
export function readScalar(name: string, value: unknown): unknown {
  switch (name) {
    case 'String':
      return typeof value === 'string' ? value : undefined;
    case 'ID':
      return Number.isSafeInteger(value) ? String(value) : typeof value === 'string' ? value : undefined;
    case 'Int':
      return Number.isInteger(value) && (value as number) === ((value as number) | 0) ? value : undefined;
    case 'Float':
      return Number.isFinite(value) ? value : undefined;
    case 'Boolean':
      return typeof value === 'boolean' ? value : undefined;
    case RESOURCE_INPUT:
      return isJsonObject(value) ? value : undefined;
    default:
      return value;
  }
}

/** Describes the expected input of a scalar, such as `text`. */
export function expectedOf(name: string): string {
  return EXPECTED[name] ?? 'an object';
}

const EXPECTED: { readonly [scalar: string]: string } = {
  String: 'text',
  ID: 'an id',
  Int: 'a whole number of 32 bits',
  Float: 'a number',
  Boolean: 'true or false',
  [RESOURCE_INPUT]: 'a resource as a JSON object',
};

/** True if a variable of one scalar type is allowed for a scalar inside a resource. */
export function takesVariable(scalar: string, variable: string): boolean {
  return scalar === JSON_VALUE || scalar === RESOURCE_INPUT || VARIABLES[scalar]?.includes(variable) === true;
}

const VARIABLES: { readonly [scalar: string]: readonly string[] } = {
  String: ['String', 'ID'],
  ID: ['ID', 'String', 'Int'],
  Int: ['Int'],
  Float: ['Float', 'Int'],
  Boolean: ['Boolean'],
};

/** True if a literal is allowed for a scalar inside a resource. */
export function takesLiteral(scalar: string, node: ValueNode): boolean {
  const kinds = LITERALS[scalar];
  if (kinds === undefined) return true;
  if (!kinds.includes(node.kind)) return false;
  return node.kind !== Kind.INT || readScalar(scalar, Number(node.value)) !== undefined;
}

/** Other scalars accept any literal. */
const LITERALS: { readonly [scalar: string]: readonly string[] } = {
  String: [Kind.STRING, Kind.ENUM],
  ID: [Kind.STRING, Kind.ENUM, Kind.INT],
  Int: [Kind.INT],
  Float: [Kind.INT, Kind.FLOAT],
  Boolean: [Kind.BOOLEAN],
  [RESOURCE_INPUT]: [Kind.OBJECT],
};

function inputScalar(name: string, description?: string): GraphQLScalarType {
  const refuse = (): never => {
    throw new GraphQLError(`${name} cannot represent this value; expected ${expectedOf(name)}.`);
  };
  return new GraphQLScalarType({
    name,
    ...(description === undefined ? {} : { description }),
    parseValue: (value) => readScalar(name, value) ?? refuse(),
    parseLiteral: (node) => takesLiteral(name, node) || refuse(),
  });
}
