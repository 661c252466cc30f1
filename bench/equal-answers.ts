import { isDeepStrictEqual } from 'node:util';
import type { BenchQuery, Variables, Variant } from './queries.js';

/**
 * Proves that all variants give the same answer to a query; the order of keys does not count.
 *
 * @returns the length of the first variant's answer, in bytes
 * @throws Error naming the variant that differs
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
    if (isDeepStrictEqual(JSON.parse(answers[index]!), expected)) return;
    const [left, right] = [answers[0]!.slice(0, 500), answers[index]!.slice(0, 500)];
    throw new Error(`${name} answers "${query.name}" differently from ${variants[0]!.name}:\n${right}\n${left}`);
  });
  return Buffer.byteLength(answers[0]!);
}
