/**
 * When a page is found by walking an index in order, and when by sorting what a condition finds. Numbers of rows; only
 * tests change them, to see both ways give the same.
 */
export const TUNING = {
  /** How far scans are looked into before each stretch of the walk. */
  looks: [400, 1_600, 6_400, 25_600, 102_400, 409_600, 1_638_400, Infinity] as readonly number[],
  /** The number of rows from which scans without immediate first rows are considered too. */
  indirectFrom: 6_400,
  /** Rows that may be walked for each row that a scan would give: sorting one takes so much longer. */
  walkedPerScanned: 2,
  /** Rows of the first stretch beside those that are wanted. */
  firstChunk: 16,
  /** Rows of the longest stretch: some milliseconds. */
  maxChunk: 4_096,
  /** Values outside of a range that are collected beside a walk through it. */
  maxOutside: 1_000,
};
