/** Numbers of rows that decide between the ways to a page. Only tests change them, to compare the ways. */
export const TUNING = {
  /** A condition with fewer rows is collected. */
  narrow: 1_000,
  /** Rows that are walked in addition to those of the page before segments are asked; 0: none are. */
  walked: 400,
  /** With more writes since its list was made, the segments of a type answer nothing: reading the written resources takes long. */
  maxWritten: 16_384,
  /** Without segments, a condition with fewer rows is collected, and otherwise the order is walked. */
  maxCollected: 100_000,
  /** The longest page that the database sorts, because it checks no deadline while it sorts. */
  maxSorted: 10_000,
  /** Rows of the first part of a walk in addition to the requested ones. */
  firstChunk: 16,
  /** Rows of the longest part: some milliseconds. */
  maxChunk: 4_096,
};
