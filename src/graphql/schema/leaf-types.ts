import { oncePer } from '../../platform/collections.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import {
  GraphQLEnumType,
  GraphQLError,
  GraphQLList,
  GraphQLNonNull,
  GraphQLScalarType,
  isListType,
  isNonNullType,
  Kind,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLType,
} from '../graphql-js.js';
import { codeOf } from './code-names.js';
import { enumNamed, enumOf, type EnumDefinition } from './enums.js';
import { hasEnums } from './host/service-model.js';
import { scalarOf } from './scalars.js';

/** Which types the schema for tools has for primitive values. */
export interface LeafOptions {
  /** `fhir`: a scalar per primitive type of FHIR (`date`, `instant`, `decimal`), each with `@specifiedBy`. */
  readonly scalars?: 'standard' | 'fhir' | undefined;
  /** Enums for codes of required bindings, as in answers of a service with this option. */
  readonly enums?: boolean | undefined;
}

/** FHIR's primitives that GraphQL has itself. */
const BUILT_IN: ReadonlySet<string> = new Set(['string', 'boolean', 'integer', 'id']);

/** The types of leaves by element and options; undefined: the standard scalar. */
export function leafType(
  model: FhirModel,
  element: ElementDefinition,
  { scalars, enums }: LeafOptions,
): GraphQLEnumType | GraphQLScalarType | undefined {
  if (model.typeDefinition(element.type)?.kind !== 'primitive') return undefined;
  const definition = enums === true ? enumOf(model, element) : undefined;
  if (definition !== undefined) return enumType(definition);
  return scalars === 'fhir' ? FHIR_SCALARS(model).get(element.type) : undefined;
}

/** The type with its leaf replaced. */
export function withLeaf<Type extends GraphQLOutputType | GraphQLInputType>(
  type: Type,
  leaf: GraphQLEnumType | GraphQLScalarType | undefined,
): Type {
  if (leaf === undefined) return type;
  if (isNonNullType(type)) return new GraphQLNonNull(withLeaf(type.ofType, leaf) as never) as unknown as Type;
  if (isListType(type)) return new GraphQLList(withLeaf(type.ofType as GraphQLOutputType, leaf)) as unknown as Type;
  return leaf as unknown as Type;
}

/** A scalar of FHIR, or an enum, as the type of a variable; undefined for other names. */
export function variableLeaf(model: FhirModel, name: string): GraphQLScalarType | undefined {
  const scalar = FHIR_SCALARS(model).get(name);
  if (scalar !== undefined) return scalar;
  const definition = enumNamed(model, name);
  return definition === undefined ? undefined : enumVariable(model, definition);
}

/** The type of a variable with the standard scalar in place of its own: `[date!]` becomes `[String!]`. */
export function withStandardLeaf(type: GraphQLType): GraphQLType {
  if (isNonNullType(type)) return new GraphQLNonNull(withStandardLeaf(type.ofType) as never);
  if (isListType(type)) return new GraphQLList(withStandardLeaf(type.ofType));
  return STANDARD.get(type) ?? type;
}

const STANDARD = new WeakMap<GraphQLType, GraphQLScalarType>();

const FHIR_SCALARS = perModel((model) => {
  const names = model.typeNames.filter((name) => !BUILT_IN.has(name) && isPrimitive(model, name));
  return new Map(
    names.map((name) => [
      name,
      standIn(name, scalarOf(name), {
        description: `${model.typeDefinition(name)!.short} (${scalarOf(name).name} in JSON)`,
        specifiedByURL: `https://hl7.org/fhir/R4/datatypes.html#${name}`,
      }),
    ]),
  );
});

/** PERF (start): reading the types of all elements takes long; primitives have names in lower case. */
function isPrimitive(model: FhirModel, name: string): boolean {
  return /^[a-z]/.test(name) && model.typeDefinition(name)?.kind === 'primitive';
}

/** A scalar that behaves like a standard one. */
function standIn(
  name: string,
  standard: GraphQLScalarType,
  more: { readonly description?: string; readonly specifiedByURL?: string } = {},
): GraphQLScalarType {
  const scalar = new GraphQLScalarType({
    name,
    ...more,
    parseValue: (value) => standard.parseValue(value),
    parseLiteral: (node, variables) => standard.parseLiteral(node, variables),
  });
  STANDARD.set(scalar, standard);
  return scalar;
}

const enumType = oncePer(({ name, description, values }: EnumDefinition): GraphQLEnumType => {
  const configs = Object.entries(values.names).map(
    ([code, value]) => [value, code === value ? {} : { description: `The code ${code}` }] as const,
  );
  return new GraphQLEnumType({ name, description, values: Object.fromEntries(configs) });
});

/**
 * An enum as the type of a variable, for validation. Its values are read by our own code; services without enums take any
 * code.
 */
function enumVariable(model: FhirModel, { name, values }: EnumDefinition): GraphQLScalarType {
  const standard = scalarOf('code');
  const read = (text: unknown): unknown => {
    if (!hasEnums(model)) return text;
    const code = typeof text === 'string' ? codeOf(values, text) : undefined;
    if (code === undefined) throw new GraphQLError(`${name} cannot represent this value; expected one of its values.`);
    return code;
  };
  const scalar = new GraphQLScalarType({
    name,
    parseValue: (value) => read(standard.parseValue(value)),
    parseLiteral: (node, variables) =>
      read(node.kind === Kind.ENUM ? node.value : standard.parseLiteral(node, variables)),
  });
  STANDARD.set(scalar, standard);
  return scalar;
}
