import Database from 'better-sqlite3';

/** The tables of schema version 1, as in files of that time. Never changed. */
const SCHEMA_1 = `
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE collection (key INTEGER PRIMARY KEY, project TEXT NOT NULL, type TEXT NOT NULL, UNIQUE (project, type));
CREATE TABLE parameter (
  key INTEGER PRIMARY KEY, collection INTEGER NOT NULL, code TEXT NOT NULL, UNIQUE (collection, code));
CREATE TABLE system (key INTEGER PRIMARY KEY, project TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (project, uri));
CREATE TABLE resource (
  key INTEGER PRIMARY KEY, collection INTEGER NOT NULL, id TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, updated INTEGER NOT NULL DEFAULT 0, content INTEGER, UNIQUE (collection, id));
CREATE INDEX resource_by_updated ON resource (collection, updated) WHERE content IS NOT NULL;
CREATE TABLE version (
  key INTEGER PRIMARY KEY, resource INTEGER NOT NULL, version INTEGER NOT NULL, updated INTEGER NOT NULL, text TEXT);
CREATE UNIQUE INDEX version_by_resource ON version (resource, version);
CREATE TABLE token (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  code TEXT, system INTEGER NOT NULL,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE INDEX token_by_value ON token (parameter, code, resource, system);
CREATE TABLE string (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  folded TEXT NOT NULL, text TEXT NOT NULL, collation TEXT,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE INDEX string_by_value ON string (parameter, folded, resource) WHERE grp = 0;
CREATE TABLE date (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  low INTEGER NOT NULL, high INTEGER NOT NULL,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE INDEX date_by_value ON date (parameter, low, high, resource) WHERE grp = 0;
CREATE INDEX date_by_end ON date (parameter, high, low, resource) WHERE grp = 0 AND high - low > 86400000;
CREATE TABLE quantity (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  low REAL NOT NULL, high REAL NOT NULL, system INTEGER, code TEXT, unit TEXT,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE INDEX quantity_by_value ON quantity (parameter, low, high, resource) WHERE grp = 0;
CREATE INDEX quantity_by_end ON quantity (parameter, high, low, resource) WHERE grp = 0 AND high > low;
CREATE TABLE reference (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  target INTEGER NOT NULL,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE INDEX reference_by_value ON reference (parameter, target, resource);
CREATE TABLE uri (
  resource INTEGER NOT NULL, parameter INTEGER NOT NULL, grp INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (resource, parameter, grp, ordinal)) WITHOUT ROWID;
CREATE INDEX uri_by_value ON uri (parameter, value, resource) WHERE grp = 0;
CREATE TABLE unique_key (
  project TEXT NOT NULL, text TEXT NOT NULL, resource INTEGER NOT NULL, PRIMARY KEY (project, text)) WITHOUT ROWID;
CREATE INDEX unique_key_by_resource ON unique_key (resource);
`;

/** Creates a file of schema version 1 with the rows of a current file. */
export function copyAsSchema1(file: string, copy: string): void {
  const database = new Database(copy);
  database.exec(SCHEMA_1);
  database.prepare('ATTACH ? AS present').run(file);
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  database.transaction(() => {
    for (const table of tables) {
      const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).pluck().all().join(', ');
      database.exec(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM present.${table}`);
    }
    // At that time, no definitions were recorded.
    database.exec("DELETE FROM meta WHERE name <> 'index_version'");
  })();
  database.exec("UPDATE meta SET value = '3' WHERE name = 'index_version'");
  database.pragma('user_version = 1');
  database.pragma(`application_id = ${0x66686972}`);
  database.close();
}
