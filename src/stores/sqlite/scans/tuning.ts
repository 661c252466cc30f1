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
  /** The longest page that the database sorts: it ends at no deadline while it does. */
  maxSorted: 10_000,
  /** Rows of the first stretch in addition to the wanted ones. */
  firstChunk: 16,
  /** Rows of the longest stretch: some milliseconds. */
  maxChunk: 4_096,
  /** The number of rows from which the skip index is read, unless a test takes as long as many rows. */
  skipFrom: 1_600,
  /** Rows' worth of it that may be read for each row that a scan would give. */
  skippedPerScanned: 4,
  /** What the sets of the conditions cost in rows. */
  setsCost: 200,
  /** Matches of sets beyond those of the page that are sorted at once. */
  fewTogether: 256,
  /** The most members of sets that are listed where the skip index does not have the order of a page. */
  maxAmong: 16_384,
  /** Values outside a range that are collected in addition to a walk through it. */
  maxOutside: 1_000,
};
