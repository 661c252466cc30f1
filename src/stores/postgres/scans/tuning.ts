/**
 * Decides between walking an index in order and sorting the matches of a condition. Numbers of rows; only tests change
 * them, to compare the results of both ways.
 */
export const TUNING = {
  /** How far scans are read before each stretch of the walk. Each look is a round trip. */
  looks: [400, 4_000, 40_000, 400_000, Infinity] as readonly number[],
  /** This many times as many likely matches as a look has rows are surely more: matches are estimated by granules. */
  surelyLonger: 4,
  /** The number of rows from which scans without immediate first rows are read too. */
  indirectFrom: 40_000,
  /** Maximum rows that are collected if an index has the order: a walk with lists takes no longer. */
  maxCollected: 4_000,
  /** Rows of the first stretch of a walk. */
  stretch: 400,
  /** The cost of a test of a chain or a `_has`, in rows. */
  rowsPerFar: 8,
  /** Rows from which a walk gives way to sets that take long to find. */
  walkedFirst: 1,
  /** How often such a walk is skipped after one in vain; each search skips it once or twice. */
  walkedAgain: 50,
  /** The share of the resources in the sets from which the first rows of a walk are tried before the sets. */
  mostShare: 0.1,
  /** If the found matches, times this, fill a page, the next stretch is walked at once. */
  nearPage: 2,
  /** The factor by which a stretch is longer than the one before. */
  growth: 10,
  /** Rows of a stretch from which conditions are tested by lists of their matches. */
  listedFrom: 2_000,
  /** Maximum length of a list, as a multiple of the stretch. A test by a list takes a tenth of the time of others. */
  listedPerWalked: 4,
  /** The longest list. One row takes about 50 bytes of the server's memory. */
  maxListed: 400_000,
  /** How far scans are read to find the longest; each of its rows is counted if it is in the lists of the others. */
  countLook: 40_000,
  /** The longest list of a count. One row takes about 100 bytes of the server's memory. */
  maxCountList: 1_000_000,
  /** Minimum number of references to a target for searching its page separately. */
  broadTarget: 1_000,
  /** Matches of a condition, for each target, up to which a hash table of them tests what refers to the targets. */
  hashedPerTarget: 200,
  /** The most matches in such a table: PostgreSQL hashes them within the smallest usual `work_mem`. */
  maxHashed: 20_000,
  /** Maximum resources that a count by sets of a skip index tests: some tens of milliseconds. */
  maxTested: 2_000,
  /** The same maximum if only composites are tested: their scans would look up as many. */
  maxLookedUp: 65_536,
  /** Matches before a page that are found like those on it. More are counted by granule. */
  deep: 400,
  /** The longest page that is found by a skip index. */
  maxSkipped: 100_000,
  /** Members of sets beyond those of a page that are sorted at once. */
  fewTogether: 256,
  /** Members of the first batch in addition to the requested ones. */
  firstBatch: 16,
  /** Members of the largest batch: some milliseconds. */
  maxBatch: 2_048,
  /** Members of a granule from which all of its values are read. */
  denseGranule: 96,
  /** Maximum values that are read for each member. */
  readPerMember: 6,
  /** Maximum resources written since the skip index was built that allow this: their numbers have to be found. */
  writtenBeside: 100,
  /** The cost of loading a row of granules, in rows. */
  rowsPerGranules: 32,
  /** Values outside a range that are collected in addition to a walk through it. */
  maxOutside: 1_000,
};
