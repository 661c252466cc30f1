import { isJsonObject } from '../../fhir/resource.js';
import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from '../graphql-js.js';
import { JSON_VALUE, RESOURCE_INPUT } from './input-fields.js';

/**
 * Scalars inside resources that a client sends, by name. They say the same as GraphQL's own but take tokens for strings, as
 * arguments do, and their errors never repeat a value: it may be clinical.
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

/** What a scalar makes of a value that was sent; undefined where it does not fit. */
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

/** What a scalar takes, in words: `text`. */
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

/** True where a variable of one scalar type may stand for a scalar inside a resource. */
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

/** True where a literal may stand for a scalar inside a resource. */
export function takesLiteral(scalar: string, node: ValueNode): boolean {
  const kinds = LITERALS[scalar];
  if (kinds === undefined) return true;
  if (!kinds.includes(node.kind)) return false;
  return node.kind !== Kind.INT || readScalar(scalar, Number(node.value)) !== undefined;
}

/** Scalars that are not named take any literal. */
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
