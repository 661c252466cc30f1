/** Decides how pages and counts are found. Numbers of rows; only tests change them, to compare the results of all ways. */
export const TUNING = {
  /** The longest scan of which each resource is tested at once. More take longer than a page by segments. */
  look: 400,
  /** With more writes since its list was made, the segments of a type answer nothing: reading the written resources takes long. */
  maxWritten: 2_000,
  /** How far scans are read to find the rarest condition, if there are no segments; and how far if all are longer. */
  rare: 4_000,
  frequent: 40_000,
  /** Minimum number of references to a target for searching its page separately. */
  broadTarget: 1_000,
  /** Matches of a condition, for each target, up to which a hash table of them tests what refers to the targets. */
  hashedPerTarget: 200,
  /** The most matches in such a table: PostgreSQL hashes them within the smallest usual `work_mem`. */
  maxHashed: 20_000,
};
