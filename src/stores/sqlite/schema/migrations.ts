import type { SqliteDatabase } from '../database/driver.js';
import { FEED_SECRET } from '../../sql/feed-position.js';
import { SEGMENT_TABLES } from '../rows/segment-tables.js';

/** Migrates a file by one schema version. Runs inside a transaction, with our SQL functions registered. */
type Migration = (database: SqliteDatabase) => void;

/** One migration per step: the first leads from schema version 1 to 2. Released migrations never change. */
export const MIGRATIONS: readonly Migration[] = [
  addChecksums,
  addIndexWorkShapesAndPast,
  addSegments,
  addFeedAndRemoveShapes,
];

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

/** 3: queue of index rows to re-index; shapes and marks; histories of types. */
function addIndexWorkShapesAndPast(database: SqliteDatabase): void {
  addIndexWork(database);
  addShapesAndExtremes(database);
  addPast(database);
  addRemovals(database);
}

/**
 * From the previews of schema version 3 until 8aa34a41: they had zones of values in the place of skip indexes, and rows
 * of an earlier extraction under the same version. Leads to schema version 3.
 */
export function PREVIEW_OF_3(database: SqliteDatabase): void {
  database.exec("DROP TABLE zone; DELETE FROM meta WHERE name = 'index_version';");
}

/** 4: segments in place of skip indexes. A store builds them in the background. */
function addSegments(database: SqliteDatabase): void {
  database.exec(`DROP TABLE IF EXISTS skip; ${SEGMENT_TABLES}`);
}

/**
 * 5: the feed, and fewer and smaller indexes. Keys of versions show where commits begin from here on, and no position is
 * given for versions before. Segments answer what the removed indexes were for; the first search creates those that have
 * changed: see value-indexes.ts.
 */
function addFeedAndRemoveShapes(database: SqliteDatabase): void {
  database.exec(`
    ${ADD_FEED_SECRET}
    DROP INDEX IF EXISTS resource_by_shape;
    ALTER TABLE resource DROP COLUMN shape;
    DROP TABLE shape;
    CREATE TABLE frequent_code (parameter INTEGER NOT NULL, code TEXT NOT NULL, PRIMARY KEY (parameter, code)) WITHOUT ROWID;
    DROP INDEX IF EXISTS token_by_value;
    DROP INDEX IF EXISTS quantity_by_value;
    DROP INDEX IF EXISTS quantity_by_end;
    DROP INDEX IF EXISTS reference_by_value;`);
}

export const ADD_FEED_SECRET = `INSERT OR IGNORE INTO meta (name, value) VALUES ('${FEED_SECRET}', lower(hex(randomblob(16))));`;

function addIndexWork(database: SqliteDatabase): void {
  database.exec(`
    CREATE TABLE index_work (
      collection INTEGER PRIMARY KEY, rank INTEGER NOT NULL, parameters TEXT NOT NULL, cursor TEXT NOT NULL DEFAULT '',
      done INTEGER NOT NULL DEFAULT 0, total INTEGER);
    CREATE INDEX index_work_by_rank ON index_work (rank);`);
}

/**
 * Shapes of resources, marks of smallest and largest values. Re-indexing sets the marks. Until then
 * all resources of a type share one shape, so that their number is right.
 */
function addShapesAndExtremes(database: SqliteDatabase): void {
  database.exec(`
    CREATE TABLE shape (
      key INTEGER PRIMARY KEY, collection INTEGER NOT NULL, parameters TEXT NOT NULL, resources INTEGER NOT NULL DEFAULT 0,
      UNIQUE (collection, parameters));
    DELETE FROM meta WHERE name = 'index_version';
    ALTER TABLE resource ADD COLUMN shape INTEGER;
    INSERT INTO shape (collection, parameters, resources)
      SELECT collection, '[]', count(*) FROM resource WHERE content IS NOT NULL GROUP BY collection;
    UPDATE resource SET shape = (SELECT s.key FROM shape s WHERE s.collection = resource.collection) WHERE content IS NOT NULL;
    CREATE INDEX resource_by_shape ON resource (shape) WHERE shape IS NOT NULL;
    ALTER TABLE token ADD COLUMN extreme INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE string ADD COLUMN extreme INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE date ADD COLUMN extreme INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE quantity ADD COLUMN extreme INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE uri ADD COLUMN extreme INTEGER NOT NULL DEFAULT 0;
    DROP INDEX resource_by_updated;
    DROP INDEX token_by_value;
    DROP INDEX string_by_value;
    DROP INDEX date_by_value;
    DROP INDEX date_by_end;
    DROP INDEX quantity_by_value;
    DROP INDEX quantity_by_end;
    DROP INDEX uri_by_value;
    CREATE INDEX resource_by_updated ON resource (collection, updated, content) WHERE content IS NOT NULL;
    CREATE INDEX token_by_value ON token (parameter, code, resource, system, extreme);
    CREATE INDEX string_by_value ON string (parameter, folded, resource, extreme) WHERE grp = 0;
    CREATE INDEX string_by_place ON string (parameter, coalesce(collation, folded), resource, extreme) WHERE grp = 0 AND extreme & 3 <> 0;
    CREATE INDEX date_by_value ON date (parameter, low, high, resource, extreme) WHERE grp = 0;
    CREATE INDEX date_by_end ON date (parameter, high, low, resource, extreme) WHERE grp = 0 AND high - low > 86400000;
    CREATE INDEX quantity_by_value ON quantity (parameter, low, high, resource, extreme, system, code) WHERE grp = 0;
    CREATE INDEX quantity_by_end ON quantity (parameter, high, low, resource, extreme, system, code) WHERE grp = 0 AND high > low;
    CREATE INDEX uri_by_value ON uri (parameter, value, resource, extreme) WHERE grp = 0;`);
}

/** The versions that are not current, by type and instant. */
function addPast(database: SqliteDatabase): void {
  database.exec(`
    CREATE TABLE past (
      collection INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL,
      PRIMARY KEY (collection, updated, version)) WITHOUT ROWID;
    ${FILL_PAST}`);
}

/** How many versions were removed, and why a resource was erased. */
function addRemovals(database: SqliteDatabase): void {
  database.exec(`
    ALTER TABLE resource ADD COLUMN purged INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE resource ADD COLUMN erased TEXT;`);
}

/** Fills the empty table `past` from the versions. */
export const FILL_PAST = `INSERT INTO past (collection, updated, version)
  SELECT r.collection, v.updated, v.key FROM version v CROSS JOIN resource r ON r.key = v.resource
  WHERE v.key IS NOT r.content ORDER BY 1, 2, 3;`;
