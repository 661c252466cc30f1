import type { SqliteDatabase } from './driver.js';

/** Brings the tables of a file from one schema version to the next. Only inside a transaction; our functions are there. */
type Migration = (database: SqliteDatabase) => void;

/** One per step: the first leads from schema version 1 to 2. What was released is never changed, only added to. */
export const MIGRATIONS: readonly Migration[] = [addChecksums, addIndexWork];

/** 2: checksums. */
function addChecksums(database: SqliteDatabase): void {
  database.exec(`
    ALTER TABLE version ADD COLUMN sum INTEGER;
    ALTER TABLE resource ADD COLUMN sum INTEGER;
    ALTER TABLE collection ADD COLUMN sum INTEGER;
    ALTER TABLE unique_key ADD COLUMN sum INTEGER;
    UPDATE version SET sum = fhirgraph_sum(resource, version, updated, text);
    UPDATE resource SET sum = fhirgraph_name_sum(collection, '', id);
    UPDATE collection SET sum = fhirgraph_name_sum(0, project, type);
    UPDATE unique_key SET sum = fhirgraph_name_sum(resource, project, text);`);
}

/** 3: index rows to be made again. */
function addIndexWork(database: SqliteDatabase): void {
  database.exec(`
    CREATE TABLE index_work (
      collection INTEGER PRIMARY KEY, rank INTEGER NOT NULL, parameters TEXT NOT NULL, cursor TEXT NOT NULL DEFAULT '',
      done INTEGER NOT NULL DEFAULT 0, total INTEGER);
    CREATE INDEX index_work_by_rank ON index_work (rank);`);
}
