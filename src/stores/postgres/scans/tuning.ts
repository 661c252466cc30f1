/** Decides how pages and counts are found. Numbers of rows; only tests change them, to compare the results of all ways. */
export const TUNING = {
  /**
   * A scan of up to so many rows reads each resource at once. Segments answer a longer one faster. A type without segments is
   * searched by its rarest condition, among scans of 10 times as many rows, then of 100 times as many.
   */
  look: 400,
  /** With more writes since its list was made, the segments of a type answer nothing: reading the written resources takes long. */
  maxWritten: 2_000,
  /** Minimum number of references to a target for searching its page separately. */
  broadTarget: 1_000,
  /**
   * Matches of a condition up to which a hash table of them tests what refers to 100 targets or more; for fewer targets, in
   * proportion. PostgreSQL hashes as many within the smallest usual `work_mem`.
   */
  maxHashed: 20_000,
};
