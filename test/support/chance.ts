import fc from 'fast-check';

/**
 * The seed of random tests. `npm test` uses the same seed each time, so that a failure comes from a change of the code.
 * `npm run test:long` uses a new seed and prints it. FHIRGRAPH_SEED=n repeats it.
 */
export const SEED = Number(process.env.FHIRGRAPH_SEED ?? 1);

/** The factor of the number of random cases. `npm test` sets none and runs the fewest. */
const EFFORT = process.env.FHIRGRAPH_EFFORT === undefined ? undefined : Number(process.env.FHIRGRAPH_EFFORT);

/** The share of random searches that the stores' conformance tests run. `npm test` runs a part of them. */
export const KIT_EFFORT = EFFORT === undefined ? 0.08 : Math.max(0.15, EFFORT / 5);

/** Whether tests run all of their variants and stores, as in `npm run test:all` and `npm run test:long`. */
export const IS_WHOLE = EFFORT !== undefined;

/** Whether there are many random cases, as in `npm run test:long`. */
export const IS_LONG = (EFFORT ?? 0) >= 1;

/** Whether the tests of the GraphQL layer run again on graphql 16, where only the behaviour of graphql-js can differ. */
export const IS_GRAPHQL_16 = process.env.GRAPHQL_MAJOR === '16';

/**
 * The number of cases to try: FHIRGRAPH_EFFORT times `count` in `npm run test:long`, at least `least` in
 * `npm run test:all`, half of `least` in `npm test`, and a fifth of it on graphql 16.
 */
export function cases(count: number, least = count): number {
  if (EFFORT !== undefined) return Math.max(least, Math.ceil(count * EFFORT));
  return Math.ceil(least / (IS_GRAPHQL_16 ? 5 : 2));
}

/** The variants or stores that a test runs: the first `quick` of them in `npm test`, all of them in `npm run test:all`. */
export function someOf<Way>(ways: readonly Way[], quick: number): readonly Way[] {
  return IS_WHOLE ? ways : ways.slice(0, quick);
}

const SURROGATES = { first: 0xd800, count: 0x800 } as const;

/**
 * Any character of Unicode. fast-check's own unit `binary` begins with a table of all of them, which takes as long as some
 * hundred tests.
 */
export const CHARACTER = fc.integer({ min: 0, max: 0x10_ff_ff - SURROGATES.count }).map(
  (number) => String.fromCodePoint(number < SURROGATES.first ? number : number + SURROGATES.count),
  (character) => {
    if (typeof character !== 'string' || [...character].length !== 1) throw new Error('not one character');
    const point = character.codePointAt(0)!;
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);
