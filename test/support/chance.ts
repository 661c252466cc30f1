/**
 * Where random tests begin. `npm test` begins at the same place each time, so that what fails there is what was changed;
 * `npm run test:long` begins somewhere new and prints it. FHIRGRAPH_SEED=n goes back to n.
 */
export const SEED = Number(process.env.FHIRGRAPH_SEED ?? 1);

/** How many cases to try: this many in `npm test`, FHIRGRAPH_EFFORT times as many in `npm run test:long`. */
export function cases(count: number): number {
  return count * Number(process.env.FHIRGRAPH_EFFORT ?? 1);
}
