import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import {
  GraphQLEnumType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLScalarType,
  isListType,
  isNonNullType,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLType,
} from '../graphql-js.js';
import { scalarOf } from './scalars.js';

/** Which types the schema for tools has for primitive values. Queries and answers are the same with all of them. */
export interface LeafOptions {
  /** `fhir`: a scalar per primitive type of FHIR (`date`, `instant`, `decimal`), each with `@specifiedBy`. */
  readonly scalars?: 'standard' | 'fhir' | undefined;
  /** Enums for codes of required bindings. */
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
  const name = enums === true && element.type === 'code' ? ENUMS(model).names.get(element.codes) : undefined;
  if (name !== undefined) return ENUMS(model).types.get(name);
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
  return ENUMS(model).variables.get(name);
}

/** The type of a variable with the standard scalar for its own: `[date!]` is `[String!]`. */
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

/** PERF: reading the types of all elements takes long; primitives have names in lower case. */
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

/**
 * The enums of a model: one per required binding whose codes all are names of GraphQL, called after the code system
 * (`http://hl7.org/fhir/administrative-gender` is `AdministrativeGender`) or, where codes have several systems, after
 * the first element. Codes such as `entered-in-error` are not names, so elements with such a code stay texts.
 */
const ENUMS = perModel((model) => {
  const names = new Map<readonly string[] | undefined, string>();
  const types = new Map<string, GraphQLEnumType>();
  for (const owner of [...model.typeNames].sort()) {
    for (const { type, name, codes, codeSystem } of model.typeDefinition(owner)?.elements.values() ?? []) {
      if (type !== 'code' || codes === undefined || names.has(codes) || !codes.every(isEnumValue)) continue;
      const bySystem = codeSystem === undefined ? '' : pascalCase(codeSystem.split('/').at(-1)!);
      const byElement = `${owner}${pascalCase(name)}`;
      const free = [bySystem, byElement, `${byElement}Code`].find(
        (one) => /^[A-Z]\w*$/.test(one) && !types.has(one) && model.typeDefinition(one) === undefined,
      );
      if (free === undefined) continue;
      names.set(codes, free);
      const description = codeSystem === undefined ? `Codes of ${owner}.${name}` : `Codes of ${codeSystem}`;
      types.set(free, new GraphQLEnumType({ name: free, description, values: Object.fromEntries(codes.map((code) => [code, {}])) })); // prettier-ignore
    }
  }
  const variables = new Map([...types.keys()].map((name) => [name, standIn(name, scalarOf('code'))]));
  return { names, types, variables };
});

function isEnumValue(code: string): boolean {
  return /^(?!__)[_A-Za-z]\w*$/.test(code) && code !== 'true' && code !== 'false' && code !== 'null';
}

function pascalCase(text: string): string {
  return text
    .split(/[^0-9A-Za-z]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
