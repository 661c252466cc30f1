import { SEGMENT_TABLES } from '../rows/segment-tables.js';

/**
 * The tables in the database file.
 *
 * ```text
 * collection    (project, type)              one number per type of a project
 * parameter     (collection, code)           one number per search parameter of a collection: a scan of an index
 *                                            under it can never leave the project or the type
 * system        (project, uri)               0: no system
 * frequent_code (parameter, code)            codes with very many tokens, which are not in the index by value: see
 *                                            frequent-codes.ts
 * resource      (collection, id)             also for mere reference targets (version 0)
 *               version, updated (ms)        of the newest version
 *               content                      version.key of the current version; null: deleted or never written
 *               purged                       how many of the oldest versions were removed
 *               erased                       why it was erased; null: it was not
 * version       (resource, version)          immutable; a key never changes its meaning. text null: a deletion. Keys grow in
 *                                            the order of commits, each of which begins with an odd one
 * past          (collection, updated, version)   version.key of every version that is not current, deletions included:
 *                                            together with resource_by_updated the history of a type
 *
 * token, string, date, quantity, reference, uri
 *               one row per index value of a current resource, clustered by resource for sorting, residual tests and
 *               removal, with indexes by value for finding: see value-indexes.ts. Quantities have none: segments find
 *               by them. grp: the composite group, 0 for plain parameters, or -1 if
 *               the index by value does not have the row
 *               extreme                      whether the value is the smallest or largest of its resource, so that the
 *                                            index by value gives resources in the order of a sort. See extremes.ts
 * segment_list, segment_row, segment_written
 *               what searches of many matches read: see rows/segment-tables.ts
 * unique_key    (project, text)              held by a current resource
 * index_work    (collection)                 index rows to re-index, one row per type of a project: see index-work.ts
 *               rank                         order of the work
 *               parameters                   JSON list of codes; ["*"]: all
 *               cursor                       id of the last resource done
 *               done, total                  number of resources; total null: not counted yet
 *
 * `sum`, where a table has it, is a checksum of its other columns, in `resource` of the name; see checksum.ts.
 * ```
 *
 * `date` and `quantity` hold intervals. Finding by their start is one range scan. To make finding dates by their end one
 * too, the few long intervals have an index of their own (see sql/intervals.ts).
 */
export const SCHEMA = `
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE collection (
  key INTEGER PRIMARY KEY, project TEXT NOT NULL, type TEXT NOT NULL, sum INTEGER, UNIQUE (project, type));
CREATE TABLE parameter (
  key INTEGER PRIMARY KEY, collection INTEGER NOT NULL, code TEXT NOT NULL, UNIQUE (collection, code));
CREATE TABLE system (key INTEGER PRIMARY KEY, project TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (project, uri));
CREATE TABLE frequent_code (parameter INTEGER NOT NULL, code TEXT NOT NULL, PRIMARY KEY (parameter, code)) WITHOUT ROWID;
CREATE TABLE resource (
  key INTEGER PRIMARY KEY, collection INTEGER NOT NULL, id TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, updated INTEGER NOT NULL DEFAULT 0, content INTEGER,
  sum INTEGER, purged INTEGER NOT NULL DEFAULT 0, erased TEXT, UNIQUE (collection, id));
CREATE TABLE version (
  key INTEGER PRIMARY KEY, resource INTEGER NOT NULL, version INTEGER NOT NULL, updated INTEGER NOT NULL, text TEXT,
  sum INTEGER);
CREATE UNIQUE INDEX version_by_resource ON version (resource, version);
CREATE TABLE past (
  collection INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL,
  PRIMARY KEY (collection, updated, version)) WITHOUT ROWID;
CREATE TABLE token (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  code TEXT, system INTEGER NOT NULL, extreme INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE TABLE string (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  folded TEXT NOT NULL, text TEXT NOT NULL, collation TEXT, extreme INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE TABLE date (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  low INTEGER NOT NULL, high INTEGER NOT NULL, extreme INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE TABLE quantity (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  low REAL NOT NULL, high REAL NOT NULL, system INTEGER, code TEXT, unit TEXT, extreme INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE TABLE reference (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  target INTEGER NOT NULL,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE TABLE uri (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  value TEXT NOT NULL, extreme INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE TABLE unique_key (
  project TEXT NOT NULL, text TEXT NOT NULL, resource INTEGER NOT NULL, sum INTEGER,
  PRIMARY KEY (project, text)) WITHOUT ROWID;
CREATE INDEX unique_key_by_resource ON unique_key (resource);
CREATE TABLE index_work (
  collection INTEGER PRIMARY KEY, rank INTEGER NOT NULL, parameters TEXT NOT NULL, cursor TEXT NOT NULL DEFAULT '',
  done INTEGER NOT NULL DEFAULT 0, total INTEGER);
CREATE INDEX index_work_by_rank ON index_work (rank);
${SEGMENT_TABLES}`;

/** Marks the file as ours (`PRAGMA application_id`): "fhir" in ASCII. */
export const APPLICATION_ID = 0x66686972;
