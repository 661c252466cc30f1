import { FhirError } from '../../fhir/error.js';
import { GraphQLBoolean, GraphQLFloat, GraphQLInt } from '../graphql-js.js';
import type { CodeNames } from '../schema/code-names.js';
import { scalarOf } from '../schema/scalars.js';

/**
 * Converts stored values of a FHIR primitive to its GraphQL scalar. Stored data may predate its checks or bypass them.
 *
 * A decimal written as a string is accepted, as in HL7's own examples; codes of an enum become its values.
 *
 * @param codes the codes of an enum; undefined for other values
 * @returns undefined for values that do not fit, including missing ones and codes that the enum does not have
 */
export function completeLeaf(primitive: string, codes?: CodeNames): (value: unknown) => unknown {
  if (codes !== undefined) return (value) => nameOfCode(codes, value);
  const scalar = scalarOf(primitive);
  if (scalar === GraphQLBoolean) return completeBoolean;
  if (scalar === GraphQLInt) return completeInt;
  return scalar === GraphQLFloat ? completeFloat : completeText;
}

function nameOfCode({ names }: CodeNames, value: unknown): string | undefined {
  return typeof value === 'string' && Object.hasOwn(names, value) ? names[value] : undefined;
}

/**
 * The error for a stored value of the wrong type, which projects without strict mode accept. It does not contain the
 * value, which may be clinical.
 */
export function wrongType(type: string): FhirError {
  return new FhirError('unprocessable', `The stored value is not of type ${type}`);
}

/** The error for a stored code that its enum lacks. */
export function wrongCode(): FhirError {
  return new FhirError(
    'unprocessable',
    'The stored value is not a code of the required binding; query it without enums',
  );
}

export function completeText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function completeBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** GraphQL's Int and FHIR's integer both have 32 bits. */
function completeInt(value: unknown): number | undefined {
  return typeof value === 'number' && (value | 0) === value ? value : undefined;
}

function completeFloat(value: unknown): number | undefined {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** See https://hl7.org/fhir/R4/datatypes.html#decimal. */
const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
