import { decimalTextsOf } from '../fhir/json/decimal-texts.js';
import { Kind, type VariableDefinitionNode } from './graphql-js.js';

/** A variable type that is one of GraphQL's own scalars, single or in a list. */
export interface PlainType {
  readonly scalar: PlainScalar;
  readonly isList: boolean;
  readonly isRequired: boolean;
}

type PlainScalar = keyof typeof FITS;

/** Marks a value that graphql-js must coerce or refuse. */
export const NOT_PLAIN = Symbol('not plain');

/** @returns undefined for other types, and for lists of lists */
export function plainTypeOf({ type }: VariableDefinitionNode): PlainType | undefined {
  const isRequired = type.kind === Kind.NON_NULL_TYPE;
  const nullable = isRequired ? type.type : type;
  const isList = nullable.kind === Kind.LIST_TYPE;
  const item = isList ? nullable.type : nullable;
  const named = item.kind === Kind.NON_NULL_TYPE ? item.type : item;
  if (named.kind !== Kind.NAMED_TYPE || !Object.hasOwn(FITS, named.name.value)) return undefined;
  return { scalar: named.name.value as PlainScalar, isList, isRequired };
}

/**
 * The value of a variable that needs no coercion: a string for `String`, a whole number for `Int`, `null` where that is
 * allowed, and `undefined` for an optional variable without a value.
 *
 * PERF (start): most variables are like that. graphql-js takes 3 µs for each, and its modules take long to load.
 *
 * @returns {@link NOT_PLAIN} for any other value
 */
export function plainValueOf(
  { scalar, isList, isRequired }: PlainType,
  name: string,
  inputs: { readonly [name: string]: unknown },
): unknown {
  if (!Object.hasOwn(inputs, name)) return isRequired ? NOT_PLAIN : undefined;
  const value = inputs[name];
  if (value === null) return isRequired ? NOT_PLAIN : null;
  const fits = FITS[scalar];
  // A number may have an original text, and its digits matter in searches.
  if (fits === isInt || fits === isFloat) if (decimalTextsOf(inputs) !== undefined) return NOT_PLAIN;
  if (!isList) return fits(value) ? value : NOT_PLAIN;
  return Array.isArray(value) && value.every(fits) ? value.slice() : NOT_PLAIN;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isInt = (value: unknown): boolean => typeof value === 'number' && (value | 0) === value;
const isFloat = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';

const FITS = { String: isText, ID: isText, Int: isInt, Float: isFloat, Boolean: isBoolean };
