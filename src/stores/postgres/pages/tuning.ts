/**
 * When a page is found by walking an index in order, and when by sorting what a condition finds. Numbers of rows; only
 * tests change them, to see that both ways give the same.
 */
export const TUNING = {
  /** How far scans are read before each stretch of the walk. Each look is a round trip. */
  looks: [400, 4_000, 40_000, 400_000, Infinity] as readonly number[],
  /** The number of rows from which scans without immediate first rows are read too. */
  indirectFrom: 4_000,
  /** Rows that may be walked for each row that a scan would give: testing and sorting one takes so much longer. */
  walkedPerScanned: 2,
  /** Rows of the first stretch of a walk. */
  stretch: 800,
  /** How much longer a stretch is than the one before. */
  growth: 10,
  /** Minimum number of references to a target for searching its page separately. */
  broadTarget: 1_000,
  /** Values outside of a range that are collected beside a walk through it. */
  maxOutside: 1_000,
};
