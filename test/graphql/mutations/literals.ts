/** A JSON value as a GraphQL literal: names of fields without quotes. */
export function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return `{ ${fields.map(([name, inner]) => `${name}: ${literalOf(inner)}`).join(', ')} }`;
}
