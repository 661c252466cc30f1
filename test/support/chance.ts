/**
 * Where random tests begin. `npm test` begins at the same place each time, so that what fails there is what was changed;
 * `npm run test:long` begins somewhere new and prints it. FHIRGRAPH_SEED=n goes back to n.
 */
export const SEED = Number(process.env.FHIRGRAPH_SEED ?? 1);

/** How many times the cases of a test to try. `npm test` has none: it is quick, and tries the fewest. */
const EFFORT = process.env.FHIRGRAPH_EFFORT === undefined ? undefined : Number(process.env.FHIRGRAPH_EFFORT);

/** How much of their random searches the stores' conformance tests make: in `npm test` a part. */
export const KIT_EFFORT = EFFORT === undefined ? 0.08 : Math.max(0.15, EFFORT / 5);

/** Whether tests have all of their ways and stores: in `npm run test:all` and `npm run test:long`, not in `npm test`. */
export const IS_WHOLE = EFFORT !== undefined;

/** Whether random cases are many, as in `npm run test:long`. */
export const IS_LONG = (EFFORT ?? 0) >= 1;

/** Whether the tests of the GraphQL layer run once more, on graphql 16, where only what graphql-js does can differ. */
export const IS_GRAPHQL_16 = process.env.GRAPHQL_MAJOR === '16';

/**
 * How many cases to try: in `npm run test:long` FHIRGRAPH_EFFORT times `count`, in `npm test` `quick` of them, in
 * `npm run test:all` a number between, and on graphql 16 a fifth of `quick`.
 */
export function cases(count: number, quick = count): number {
  if (EFFORT !== undefined) return Math.max(quick, Math.ceil(count * EFFORT));
  return IS_GRAPHQL_16 ? Math.ceil(quick / 5) : quick;
}

/** Of several ways to the same result, or stores below it, `npm test` takes the first `quick`; `npm run test:all` has all. */
export function someOf<Way>(ways: readonly Way[], quick: number): readonly Way[] {
  return IS_WHOLE ? ways : ways.slice(0, quick);
}
