import type { BenchQuery, Variables, Variant } from './queries.js';

/**
 * Checks that all variants give the same answer to a query, apart from the order of keys.
 *
 * @returns the length of the first variant's answer, in bytes
 * @throws Error naming the variant that differs, and the place
 */
export async function assertEqualAnswers(
  variants: readonly Variant[],
  query: BenchQuery,
  variables: Variables,
): Promise<number> {
  const answers: string[] = [];
  for (const variant of variants) answers.push(await variant.prepare(query, variables)());
  const expected = JSON.parse(answers[0]!) as unknown;
  variants.forEach(({ name }, index) => {
    const difference = firstDifference(JSON.parse(answers[index]!), expected);
    if (difference === undefined) return;
    throw new Error(`${name} answers "${query.name}" differently from ${variants[0]!.name} at ${difference}`);
  });
  return Buffer.byteLength(answers[0]!);
}

/** The first difference of two JSON values and its place (`data.Patient.id: "1", not "2"`); undefined if they are equal. */
function firstDifference(actual: unknown, expected: unknown, path = ''): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  if (!isContainer(actual) || !isContainer(expected) || Array.isArray(actual) !== Array.isArray(expected)) {
    return `${path}: ${excerpt(actual)}, not ${excerpt(expected)}`;
  }
  for (const key of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
    const difference = firstDifference(actual[key], expected[key], path === '' ? key : `${path}.${key}`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isContainer(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null;
}

function excerpt(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200);
}
