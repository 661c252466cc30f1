/** Numbers of rows that decide between the ways to a page. Only tests change them, to compare the ways. */
export const TUNING = {
  /** A condition with fewer rows is collected. Without segments, one with 100 times as many is, before the order is walked. */
  narrow: 1_000,
  /**
   * Rows that are walked in addition to those of the page before segments are asked; 0: none are. The first part of a walk has a
   * 25th of these rows beside those of the page.
   */
  walked: 400,
  /** With more writes since its list was made, the segments of a type answer nothing: reading the written resources takes long. */
  maxWritten: 16_384,
  /** Most rows between two checks of the deadline: of a part of a walk, and of a page that the database sorts. */
  maxChunk: 4_096,
};
