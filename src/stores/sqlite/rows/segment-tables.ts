import type { Statements } from '../database/statements.js';

/** Only tests change it. */
export const SEGMENT_TUNING = {
  /**
   * Whether stores keep segments, answer each search by them too, and throw if the answers differ. Otherwise nothing of
   * them is in the file, and nothing uses them.
   */
  shadow: false,
  /**
   * Types with fewer resources have no segments. A chain into such a type is tested per resource: of 60,000 resources,
   * counting the Observations of 1,200 women took 330 ms, and 1 ms with segments of Patients.
   */
  minResources: 256,
  /** Most resources of a new segment. */
  size: 65_536,
  /** With so many writes since the list was made, they become a segment. */
  flushFrom: 300,
  /** With more writes, the segments of a type answer nothing: a search would take long to read the written resources. */
  maxWritten: 2_000,
};

/**
 * The tables of the segments: see src/stores/segments.
 *
 * ```text
 * segment_list      the list of a type of a project, as JSON. A type without a row has no segments
 * segment_row       the rows of segments
 * segment_written   the resources that were written since the list was made, only of types with a list
 *                   stamp    a random number for each write, so that a rollback or a restored copy brings none back
 * ```
 */
export const SEGMENT_TABLES = `
CREATE TABLE IF NOT EXISTS segment_list (collection INTEGER PRIMARY KEY, id TEXT NOT NULL, list TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS segment_row (
  segment TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (segment, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segment_written (
  collection INTEGER NOT NULL, resource INTEGER NOT NULL, stamp INTEGER NOT NULL,
  PRIMARY KEY (collection, resource)) WITHOUT ROWID;
`;

/** Whether the file has the tables. */
export function hasSegments(statements: Statements): boolean {
  return statements.read(FIND_TABLE).get() !== undefined;
}

/** Notes a write, in its transaction. A type without a list needs no note: its list begins with a later state. */
export function noteWritten(statements: Statements, collection: number, resource: number): void {
  statements.write(NOTE_WRITTEN).run(collection, resource, collection);
}

/**
 * Removes the segments of a type of a project, in the transaction that removes content or changes index rows. No other
 * process can then store a segment that it built of earlier reads, because its list is gone.
 */
export function removeSegments(statements: Statements, collection: number): void {
  if (!hasSegments(statements)) return;
  statements.write(REMOVE_ROWS).run(collection);
  statements.write('DELETE FROM segment_list WHERE collection = ?').run(collection);
  statements.write('DELETE FROM segment_written WHERE collection = ?').run(collection);
}

/** Removes all segments. */
export function removeAllSegments(statements: Statements): void {
  if (!hasSegments(statements)) return;
  for (const table of ['segment_row', 'segment_list', 'segment_written']) {
    statements.write(`DELETE FROM ${table}`).run();
  }
}

const FIND_TABLE = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'segment_list'";
/** The stamp has 47 bits: SQLite stores it in six bytes. */
const NOTE_WRITTEN = `INSERT OR REPLACE INTO segment_written (collection, resource, stamp)
  SELECT ?, ?, random() & 0x7fffffffffff WHERE EXISTS (SELECT 1 FROM segment_list WHERE collection = ?)`;
const REMOVE_ROWS = `DELETE FROM segment_row WHERE segment IN (
  SELECT s.value ->> 'id' FROM segment_list l, json_each(l.list, '$.segments') s WHERE l.collection = ?)`;
