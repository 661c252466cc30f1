import type { Statements } from '../../database/statements.js';
import { FORMAT, HEADER, SETS, SKIP_TUNING, type SkipHeader, orderOfIds } from '../../rows/skip-row.js';

/** The header of a type's skip index; undefined if the file has no valid one. */
export function readHeader(collection: number, statements: Statements): SkipHeader | undefined {
  const [text, epoch] = (statements.read(READ_HEADER).get(SETS, orderOfIds(collection), HEADER) ?? []) as [
    string?,
    (string | null)?,
  ];
  if (text === undefined) return undefined;
  const header = JSON.parse(text) as SkipHeader;
  return header.format === FORMAT && header.epoch === epoch ? header : undefined;
}

const READ_HEADER = `SELECT data, (SELECT value FROM meta WHERE name = 'index_epoch') FROM skip
  WHERE sort = ? AND subject = ? AND value = ?`;

/** The data of a row of the table `skip`; undefined if it does not exist. */
export function readSkipData(
  statements: Statements,
  sort: number,
  subject: number,
  value: string | number,
): string | Uint8Array | undefined {
  return (statements.read(READ_DATA).get(sort, subject, value) as [string | Uint8Array] | undefined)?.[0];
}

const READ_DATA = 'SELECT data FROM skip WHERE sort = ? AND subject = ? AND value = ?';

/** The number of the rows with granules of an order. */
export function countGranuleRows(statements: Statements, sort: number, subject: number): number {
  return (statements.read(COUNT_GRANULE_ROWS).get(sort, subject) as [number])[0];
}

const COUNT_GRANULE_ROWS = 'SELECT count(*) FROM skip WHERE sort = ? AND subject = ? AND value >= 0';

/** Whether some resources of a type have yet to be indexed. */
export function hasIndexWork(collection: number, statements: Statements): boolean {
  return statements.read(HAS_WORK).get(collection) !== undefined;
}

const HAS_WORK = 'SELECT 1 FROM index_work WHERE collection = ?';

/**
 * The keys of the resources written since a version, in at most one more version than may be pending. Undefined if so
 * much was written to all types that reading them takes too long.
 */
export function writtenSince(
  lastVersion: number,
  collection: number,
  statements: Statements,
  { maxPending, maxVersions }: { readonly maxPending: number; readonly maxVersions: number } = SKIP_TUNING,
): readonly number[] | undefined {
  if (statements.read(VERSION_AFTER).get(lastVersion, maxVersions) !== undefined) return undefined;
  const rows = statements.read(WRITTEN_SINCE).all(lastVersion, collection, maxPending + 1) as [number][];
  return [...new Set(rows.map(([key]) => key))];
}

const VERSION_AFTER = 'SELECT 1 FROM version NOT INDEXED WHERE key > ? LIMIT 1 OFFSET ?';
// PERF: not DISTINCT, for which SQLite would read all versions in the order of their resources.
const WRITTEN_SINCE = `SELECT v.resource FROM version v NOT INDEXED CROSS JOIN resource r ON r.key = v.resource
  WHERE v.key > ? AND r.collection = ? LIMIT ?`;
