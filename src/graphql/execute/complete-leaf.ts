import { GraphQLBoolean, GraphQLFloat, GraphQLInt } from '../graphql-js.js';
import { scalarOf } from '../schema/scalars.js';

/**
 * How a stored primitive becomes a value of its scalar, for data that is not as the definitions say: a number written as
 * a string counts, what cannot be a value of the scalar is null, and nothing complex ever passes for a leaf.
 *
 * @param type FHIR primitive type
 */
export function completeLeaf(type: string): (value: unknown) => unknown {
  const scalar = scalarOf(type);
  if (scalar === GraphQLBoolean) return (value) => (typeof value === 'boolean' ? value : null);
  if (scalar === GraphQLInt || scalar === GraphQLFloat) return completeNumber;
  return completeText;
}

function completeNumber(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

function completeText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
