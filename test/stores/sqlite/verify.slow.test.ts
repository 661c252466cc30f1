import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { INDEX_COLUMNS } from '../../../src/stores/sqlite/rows/index-rows.js';
import { INDEX_TABLES } from '../../../src/stores/sql/index-tables.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { createRandom, keyOf, put, randomResources, resourceOf } from '../../support/kit.js';
import { IS_WHOLE } from '../../support/chance.js';

/** The bytes of a file, which cost no writing to a disk. */
let healthy: Buffer;
let resources = 0;

beforeAll(async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  for (const seed of [7, 8]) await store.commit(randomResources(createRandom(seed)).map((resource) => put(resource)));
  await store.commit([{ kind: 'delete', key: keyOf('Patient', 'p1') }]);
  await store.commit([put(resourceOf('User', 'u'), { unique: ['User.email=x'] }, '')]);
  const verification = await store.verify();
  expect(verification.problems).toEqual([]);
  resources = verification.resources;
  await store.close();
  healthy = database.serialize();
  database.close();
});

/** A copy of the file, damaged by statements. `writable_schema` may be used. */
function damaged(statements: string): Database.Database {
  const database = new Database(healthy);
  // Without this, better-sqlite3 does not let anybody write the schema.
  database.unsafeMode(true);
  database.exec(statements);
  // A connection keeps the schema that it has read.
  const bytes = database.serialize();
  database.close();
  return new Database(bytes);
}

/** All index rows, by name. */
function indexRows(database: Database.Database): unknown {
  return INDEX_TABLES.map((table) =>
    database
      .prepare(
        `SELECT r.id, c.type, p.code, t.* FROM ${table} t JOIN resource r ON r.key = t.resource
         JOIN collection c ON c.key = r.collection JOIN parameter p ON p.key = t.parameter ORDER BY t.resource, p.code, grp, ordinal`,
      )
      .all()
      .map((row) => ({ ...(row as object), parameter: undefined, system: undefined })),
  );
}

describe('verify finds, and reindex repairs', () => {
  const VALUES = {
    token: ["code = code || 'x'", 'system = system + 1', 'extreme = extreme + 4'],
    string: ["folded = folded || 'x'", "text = text || 'x'", "collation = 'x'"],
    date: ['low = low - 1', 'high = high + 1'],
    quantity: ['low = -1e301', 'high = 1e301', 'system = 99', "code = 'x'", "unit = 'x'"],
    reference: ['target = target + 1'],
    uri: ["value = value || 'x'"],
  } as const;
  const ANY = '(resource, parameter, grp, ordinal) IN (SELECT resource, parameter, grp, ordinal FROM';
  const cases = INDEX_TABLES.flatMap((table): [name: string, statements: string][] => {
    const one = `${ANY} ${table} LIMIT 1 OFFSET 3)`;
    const columns = INDEX_COLUMNS[table].join(', ');
    return [
      [`a missing row of ${table}`, `DELETE FROM ${table} WHERE ${one}`],
      [`all rows of ${table} missing`, `DELETE FROM ${table}`],
      [
        `a row too many in ${table}`,
        `CREATE TEMP TABLE extra AS SELECT * FROM ${table} WHERE ${one}; UPDATE extra SET ordinal = 999;
         INSERT INTO ${table} (${columns}) SELECT ${columns} FROM extra`,
      ],
      [
        `rows of a deleted resource in ${table}`,
        `CREATE TEMP TABLE extra AS SELECT * FROM ${table} WHERE ${one};
         UPDATE extra SET resource = (SELECT key FROM resource WHERE version > 0 AND content IS NULL);
         INSERT INTO ${table} (${columns}) SELECT ${columns} FROM extra`,
      ],
      [`a row of ${table} under another parameter`, `UPDATE ${table} SET parameter = parameter + 1000 WHERE ${one}`],
      [`a row of ${table} in another group`, `UPDATE ${table} SET grp = grp + 1000 WHERE ${one}`],
      ...VALUES[table].map((change): [string, string] => [
        `a changed row of ${table}: ${change}`,
        `UPDATE ${table} SET ${change} WHERE ${one}`,
      ]),
      [
        `rows that the index ${table}_by_value has lost`,
        `CREATE TEMP TABLE was AS SELECT sql FROM sqlite_schema WHERE name = '${table}_by_value';
         DROP INDEX ${table}_by_value;
         CREATE INDEX ${table}_by_value ON ${table} (parameter) WHERE ordinal > 1000;
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = (SELECT sql FROM was) WHERE name = '${table}_by_value'`,
      ],
    ];
  });

  test.each([
    ...cases.filter((_, index) => IS_WHOLE || index % 3 === 0),
    ['a search parameter without its number', "DELETE FROM parameter WHERE code = 'gender'"],
    ['a search parameter of another name', "UPDATE parameter SET code = 'sex' WHERE code = 'gender'"],
    ['a system of another name', "UPDATE system SET uri = 'urn:other' WHERE uri = 'http://loinc.org'"],
    ['an extraction that was never noted', "DELETE FROM meta WHERE name = 'index_version'; DELETE FROM token"],
  ])('%s', async (_name, statements) => {
    const database = damaged(statements);
    const wanted = new Database(healthy);
    const store = new SqliteStore(database, { takeOver: true });
    if (!statements.includes('meta')) {
      const before = await store.verify();
      expect(before.resources).toBe(resources);
      expect(before.problems).not.toEqual([]);
      expect(await store.reindex()).toBe(resources);
    }
    expect(await store.verify()).toEqual({ resources, problems: [] });
    expect(indexRows(database)).toEqual(indexRows(wanted));
    await putOne(store);
    expect(await store.verify()).toEqual({ resources: resources + 1, problems: [] });
    database.close();
    wanted.close();
  });

  async function putOne(store: SqliteStore): Promise<void> {
    await store.commit([put(resourceOf('Patient', 'after', { gender: 'male' }))]);
  }
});

describe('verify finds damage that only a backup can repair', () => {
  const CURRENT = "(SELECT key FROM resource WHERE content IS NOT NULL AND id = 'p2')";
  test.each([
    ['a changed text', `UPDATE version SET text = replace(text, 'Patient', 'Patiens') WHERE resource = ${CURRENT}`],
    ['a digit in an old version', `UPDATE version SET text = text || ' ' WHERE version = 1 AND resource = ${CURRENT}`],
    ['a lost text', `UPDATE version SET text = NULL WHERE version = 2 AND resource = ${CURRENT}`],
    ['a text that is none', `UPDATE version SET text = CAST(text AS BLOB) WHERE version = 2 AND resource = ${CURRENT}`],
    ['a lost checksum', `UPDATE version SET sum = NULL WHERE version = 2 AND resource = ${CURRENT}`],
    [
      'another instant of an old version',
      `UPDATE version SET updated = updated + 1 WHERE version = 1 AND resource = ${CURRENT}`,
    ],
    ['another instant of a deletion', 'UPDATE version SET updated = updated + 1 WHERE text IS NULL'],
    ['a deletion made of a version', `UPDATE version SET text = NULL WHERE version = 1 AND resource = ${CURRENT}`],
    ['a lost old version', `DELETE FROM version WHERE version = 1 AND resource = ${CURRENT}`],
    ['a lost current version', `DELETE FROM version WHERE version = 2 AND resource = ${CURRENT}`],
    ['a resource that points to another text', `UPDATE resource SET content = content + 1 WHERE key = ${CURRENT}`],
    ['a resource that seems deleted', `UPDATE resource SET content = NULL WHERE key = ${CURRENT}`],
    ['a resource set back to an old version', `UPDATE resource SET version = 1 WHERE key = ${CURRENT}`],
    ['a resource of another instant', `UPDATE resource SET updated = updated - 1 WHERE key = ${CURRENT}`],
    ['a resource of another name', `UPDATE resource SET id = 'other' WHERE key = ${CURRENT}`],
    ['a deleted resource of another name', "UPDATE resource SET id = 'other' WHERE content IS NULL AND version > 0"],
    [
      'a resource in another project',
      `INSERT INTO collection VALUES (999, 'other', 'Patient', NULL); UPDATE resource SET collection = 999 WHERE key = ${CURRENT}`,
    ],
    ['a lost resource', `DELETE FROM resource WHERE key = ${CURRENT}`],
    ['a resource of no project', `UPDATE resource SET collection = 999 WHERE key = ${CURRENT}`],
    ['a lost type', "DELETE FROM collection WHERE type = 'Patient'"],
    ['a project of another name', "UPDATE collection SET project = 'clinik' WHERE type = 'Patient'"],
    ['a type of another name', "UPDATE collection SET type = 'Parient' WHERE type = 'ValueSet'"],
    ['another unique text', "UPDATE unique_key SET text = 'User.email=y'"],
    ['a unique text of another resource', `UPDATE unique_key SET resource = ${CURRENT}`],
    ['a unique text of a missing resource', 'UPDATE unique_key SET resource = 999'],
  ])('%s', async (_name, statements) => {
    const database = damaged(statements);
    const store = new SqliteStore(database);
    const { problems } = await store.verify();
    expect(problems).not.toEqual([]);
    expect(problems.join('\n')).not.toMatch(/Müller|O'Hara|birthDate|User\.email/);
    // It stays found: nothing of this can be made up.
    await store.reindex().catch((error: unknown) => expect(error).toMatchObject({ code: 'corrupt' }));
    expect((await store.verify()).problems).not.toEqual([]);
    database.close();
  });
});

test('verify does not change the file', async () => {
  const database = damaged("DELETE FROM parameter WHERE code = 'gender'; DELETE FROM uri");
  const version = (): unknown => database.prepare('SELECT * FROM pragma_data_version').get();
  const rows = (): unknown => indexRows(database);
  const before = [version(), rows()];
  const store = new SqliteStore(database);
  expect((await store.verify()).problems).not.toEqual([]);
  expect([version(), rows()]).toEqual(before);
  database.close();
});
