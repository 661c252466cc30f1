import type { Statements } from '../database/statements.js';

/**
 * The tables of the segments: see src/stores/segments.
 *
 * ```text
 * segment_list      the list of a type of a project, as JSON. A type without a row has no segments
 *                   built    the format of the rows once all resources are in segments, or written since; 0 until then
 * segment_row       the rows of segments
 * segment_written   the resources that were written since the list was made, only of types with a list
 *                   stamp    a random number for each write, so that a rollback or a restored copy brings none back
 *
 * sum: CRC-32 of the list, or of the data
 * ```
 */
export const SEGMENT_TABLES = `
CREATE TABLE segment_list (collection INTEGER PRIMARY KEY, id TEXT NOT NULL, built INTEGER NOT NULL, list TEXT NOT NULL, sum INTEGER);
CREATE TABLE segment_row (
  segment TEXT NOT NULL, name TEXT NOT NULL, collection INTEGER NOT NULL, sum INTEGER, data BLOB NOT NULL,
  PRIMARY KEY (segment, name)) WITHOUT ROWID;
CREATE INDEX segment_row_by_collection ON segment_row (collection);
CREATE TABLE segment_written (
  collection INTEGER NOT NULL, resource INTEGER NOT NULL, stamp INTEGER NOT NULL,
  PRIMARY KEY (collection, resource)) WITHOUT ROWID;
`;

/** Notes a write, in its transaction. A type without a list needs no note: its list begins with a later state. */
export function noteWritten(statements: Statements, collection: number, resource: number): void {
  statements.write(NOTE_WRITTEN).run(collection, resource, collection);
}

/**
 * Removes the segments of a type of a project, in the transaction that removes content or changes index rows. No other
 * process can then store a segment that it built of earlier reads, because its list is gone.
 */
export function removeSegments(statements: Statements, collection: number): void {
  for (const table of TABLES) statements.write(`DELETE FROM ${table} WHERE collection = ?`).run(collection);
}

/** Removes all segments. */
export function removeAllSegments(statements: Statements): void {
  for (const table of TABLES) statements.write(`DELETE FROM ${table}`).run();
}

const TABLES = ['segment_row', 'segment_list', 'segment_written'] as const;

/** The stamp has 47 bits: SQLite stores it in six bytes. */
const NOTE_WRITTEN = `INSERT OR REPLACE INTO segment_written (collection, resource, stamp)
  SELECT ?, ?, random() & 0x7fffffffffff WHERE EXISTS (SELECT 1 FROM segment_list WHERE collection = ?)`;
