/**
 * Decides between walking an index in order and sorting the matches of a condition. All are numbers of rows. Only tests
 * change them, to compare the results of both ways.
 */
export const TUNING = {
  /** How many rows of each scan are counted before each part of the walk. */
  looks: [400, 1_600, 6_400, 25_600, 102_400, 409_600, 1_638_400, Infinity] as readonly number[],
  /** The number of rows from which scans without immediate first rows are considered too. */
  indirectFrom: 6_400,
  /** Rows that may be walked for each row that a scan would give: testing one takes about as long as sorting one. */
  walkedPerScanned: 1,
  /** Rows that an indirect scan may read for each row that it may give. */
  readPerScanned: 8,
  /** The longest page that the database sorts, because it checks no deadline while it sorts. */
  maxSorted: 10_000,
  /** Rows of the first stretch in addition to the requested ones. */
  firstChunk: 16,
  /** Rows of the longest stretch: some milliseconds. */
  maxChunk: 4_096,
  /** The number of rows from which the skip index is read, unless a test takes as long as many rows. */
  skipFrom: 1_600,
  /** Cost of the skip index, in rows, that is accepted for each row that a scan would give. */
  skippedPerScanned: 4,
  /** The cost of the sets of the conditions, in rows. */
  setsCost: 200,
  /** Matches of sets beyond those of the page that are sorted at once. */
  fewTogether: 256,
  /** Maximum members of sets that are listed if the skip index does not have the order of a page. */
  maxAmong: 16_384,
  /** Values outside a range that are collected in addition to a walk through it. */
  maxOutside: 1_000,
};
