/**
 * Where random tests begin. `npm test` begins at the same place each time, so that what fails there is what was changed;
 * `npm run test:long` begins somewhere new and prints it. FHIRGRAPH_SEED=n goes back to n.
 */
export const SEED = Number(process.env.FHIRGRAPH_SEED ?? 1);

/** How much of their random searches the stores' conformance tests make: in `npm test` a part. */
export const KIT_EFFORT = process.env.FHIRGRAPH_EFFORT === undefined ? 0.15 : Number(process.env.FHIRGRAPH_EFFORT) / 5;

/** Whether this is `npm run test:long`. */
export const IS_LONG = process.env.FHIRGRAPH_EFFORT !== undefined;

/** Whether the tests of the GraphQL layer run once more, on graphql 16, where only what graphql-js does can differ. */
export const IS_GRAPHQL_16 = process.env.GRAPHQL_MAJOR === '16';

/**
 * How many cases to try: in `npm run test:long` FHIRGRAPH_EFFORT times `count`, in `npm test` `quick` of them, and a fifth
 * of those on graphql 16.
 */
export function cases(count: number, quick = count): number {
  if (IS_LONG) return count * Number(process.env.FHIRGRAPH_EFFORT);
  return IS_GRAPHQL_16 ? Math.ceil(quick / 5) : quick;
}
