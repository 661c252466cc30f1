/** Decides how pages and counts are found. Numbers of rows; only tests change them, to compare the results of all ways. */
export const TUNING = {
  /**
   * The longest scan of which each resource is tested at once. More take longer than a page by segments. If there are none, the
   * rarest condition is looked for among scans up to 10 times, and then 100 times as long.
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
