/**
 * When a page is found by walking an index in order, and when by sorting what a condition finds. Numbers of rows; only
 * tests change them, to see that both ways give the same.
 */
export const TUNING = {
  /** How far scans are read before each stretch of the walk. Each look is a round trip. */
  looks: [400, 1_200, 4_000, 40_000, 400_000, Infinity] as readonly number[],
  /** How many times as many matches as a look has rows are surely more: numbers of matches are known by granules. */
  surelyLonger: 4,
  /** The number of rows from which scans without immediate first rows are read too. */
  indirectFrom: 4_000,
  /** Rows that may be walked for each row that a scan would give: testing and sorting one takes so much longer. */
  walkedPerScanned: 1,
  /** The most rows that are collected where an index has the order: a walk with lists takes no longer. */
  maxCollected: 4_000,
  /** Rows of the first stretch of a walk. */
  stretch: 400,
  /** The cost of a test of a chain or a `_has`, in rows. */
  rowsPerFar: 8,
  /** How much longer a stretch under them is than the one before. */
  farGrowth: 2,
  /** Rows from which a walk gives way to sets that take long to find. */
  walkedFirst: 1,
  /** How often such a walk is left out after one in vain: once or twice by each search. */
  walkedAgain: 50,
  /** The share of the resources in the sets from which the first rows of a walk come before these. */
  mostShare: 0.1,
  /** Which part of a page a stretch has found where the next one is walked at once. */
  nearPage: 2,
  /** How much longer a stretch is than the one before. */
  growth: 10,
  /** Rows of a stretch from which conditions are tested by lists of their matches. */
  listedFrom: 2_000,
  /** How many times as long as the stretch a list may be. A test by a list takes a tenth of the time of another. */
  listedPerWalked: 4,
  /** The longest list. One row takes about 50 bytes of the server's memory. */
  maxListed: 400_000,
  /** How far scans are read to find the longest, of which each row is counted that is in the lists of the others. */
  countLook: 40_000,
  /** The longest list of a count. One row takes about 100 bytes of the server's memory. */
  maxCountList: 1_000_000,
  /** Minimum number of references to a target for searching its page separately. */
  broadTarget: 1_000,
  /** Resources that a count by sets of a skip index tests at most: some tens of milliseconds. */
  maxTested: 2_000,
  /** The same where only composites are tested: their scans would look up as many. */
  maxLookedUp: 65_536,
  /** Matches before a page that are found like those on it. More are counted by the granules that they are in. */
  deep: 400,
  /** The longest page that is found by a skip index. */
  maxSkipped: 100_000,
  /** Members of sets beyond those of a page that are sorted at once. */
  fewTogether: 256,
  /** Members of the first batch in addition to the wanted ones. */
  firstBatch: 16,
  /** Members of the largest batch: some milliseconds. */
  maxBatch: 2_048,
  /** Members of a granule from which all of its values are read. */
  denseGranule: 96,
  /** How many values are read for each member at most. */
  readPerMember: 6,
  /** Resources written since the skip index was made with which that is done: their numbers have to be found. */
  writtenBeside: 100,
  /** What some granules cost to read, in rows. */
  rowsPerGranules: 32,
  /** Values outside a range that are collected in addition to a walk through it. */
  maxOutside: 1_000,
};
