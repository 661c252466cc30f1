import Database from 'better-sqlite3';
import { copyFileSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../../src/stores/sqlite/schema/prepare-schema.js';
import { INDEX_VERSION } from '../../../src/search/index/parameter-fingerprints.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { createRandom, idsOf, keyOf, put, putAll, queryOf, randomResources, resourceOf } from '../../support/kit.js';
import { copyAsSchema1 } from '../../support/sqlite-schema-1.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();

/** A file with many versions, deletions among them. @returns its name and that of its like of schema version 1 */
async function makeFiles(name: string): Promise<{ readonly present: string; readonly old: string }> {
  const [present, old] = [fileNamed(`${name}.db`), fileNamed(`${name}-1.db`)];
  copyFileSync(await (made ??= makeFile()), present);
  copyAsSchema1(present, old);
  return { present, old };
}

let made: Promise<string> | undefined;

async function makeFile(): Promise<string> {
  const file = fileNamed('made.db');
  const store = new SqliteStore(file);
  for (const seed of [1, 2]) await store.commit(randomResources(createRandom(seed)).map((resource) => put(resource)));
  await store.commit([{ kind: 'delete', key: keyOf('Patient', 'p1') }]);
  await store.commit([put(resourceOf('User', 'u'), { unique: ['x'] }, '')]);
  await store.close();
  return file;
}

/** Gives a file the form that it had in schema version 4. */
const TO_SCHEMA_4 = `
  DROP TABLE frequent_code;
  CREATE TABLE shape (
    key INTEGER PRIMARY KEY, collection INTEGER NOT NULL, parameters TEXT NOT NULL, resources INTEGER NOT NULL DEFAULT 0,
    UNIQUE (collection, parameters));
  ALTER TABLE resource ADD COLUMN shape INTEGER;
  CREATE INDEX resource_by_shape ON resource (shape) WHERE shape IS NOT NULL;
  DROP INDEX token_by_value;
  CREATE INDEX token_by_value ON token (parameter, code, resource, system, extreme);
  DROP INDEX quantity_by_value;
  CREATE INDEX quantity_by_value ON quantity (parameter, low, high, resource, extreme, system, code) WHERE grp = 0;
  CREATE INDEX quantity_by_end ON quantity (parameter, high, low, resource, extreme, system, code) WHERE grp = 0 AND high > low;
  DROP INDEX reference_by_value;
  CREATE INDEX reference_by_value ON reference (parameter, target, resource);
  PRAGMA user_version = 4;`;

const TO_SCHEMA_3 = `${TO_SCHEMA_4}
  DROP TABLE segment_list; DROP TABLE segment_row; DROP TABLE segment_written; PRAGMA user_version = 3;`;

/** Everything in a file: the form of its tables and their rows, but not what differs in each file. */
function contentOf(file: string): unknown {
  const database = new Database(file, { readonly: true });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();
  const content = {
    versions: [database.pragma('user_version'), database.pragma('application_id')],
    indexes: database.prepare("SELECT sql FROM sqlite_schema WHERE type = 'index' ORDER BY name").pluck().all(),
    tables: (tables as string[]).map((table) => [
      table,
      database.pragma(`table_info(${table})`),
      database
        .prepare(`SELECT * FROM ${table}`)
        .raw()
        .all()
        .filter(
          (row) =>
            !['access_epoch', 'feed_secret', 'index_epoch', 'removal_epoch'].includes((row as readonly string[])[0]!),
        ),
    ]),
  };
  database.close();
  return content;
}

describe('a file of an older schema', () => {
  test('becomes equal to a new file when its owner opens it', async () => {
    const { present, old } = await makeFiles('forward');
    expect(contentOf(old)).not.toEqual(contentOf(present));
    const store = new SqliteStore(old, { takeOver: true });
    const { resources, problems } = await store.verify();
    await store.close();
    expect([resources > 40, problems]).toEqual([true, []]);
    expect(contentOf(old)).toEqual(contentOf(present));
  });

  test.each([undefined, { readonly: true }])(
    'is refused, and not changed, without the option (%o)',
    async (options) => {
      const { old } = await makeFiles(`refused ${options?.readonly}`);
      const before = readFileSync(old);
      expect(() => new SqliteStore(old, options)).toThrow(
        expect.objectContaining({
          code: 'unavailable',
          message: expect.stringMatching(/schema version 1.*takeOver: true.*-1\.db$/) as string,
          details: { option: 'takeOver', path: old },
        }),
      );
      expect(readFileSync(old).equals(before)).toBe(true);
    },
  );

  test('is migrated from the preview that had zones', async () => {
    const { present } = await makeFiles('preview');
    const preview = fileNamed('preview-zones.db');
    copyFileSync(present, preview);
    const database = new Database(preview);
    database.exec(`${TO_SCHEMA_3} CREATE TABLE zone (parameter INTEGER NOT NULL, block INTEGER NOT NULL, low NOT NULL,
      last NOT NULL, high NOT NULL, PRIMARY KEY (parameter, block)) WITHOUT ROWID; CREATE INDEX zone_by_block ON zone (block)`);
    database.close();
    for (const options of [{}, { readonly: true }]) {
      expect(() => new SqliteStore(preview, options)).toThrow(
        expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('preview') as string }),
      );
    }
    const store = new SqliteStore(preview, { takeOver: true });
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
    expect(contentOf(preview)).toEqual(contentOf(present));
  });

  test('keeps its answers when segments take the place of skip indexes', async () => {
    const { present } = await makeFiles('skip');
    const old = fileNamed('skip-3.db');
    copyFileSync(present, old);
    const database = new Database(old);
    database.exec(`${TO_SCHEMA_3} CREATE TABLE skip (
        collection INTEGER NOT NULL, sort INTEGER NOT NULL, subject INTEGER NOT NULL, value NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (sort, subject, value)) WITHOUT ROWID;
      CREATE INDEX skip_by_collection ON skip (collection); INSERT INTO skip VALUES (1, 0, 1, 0, 'x')`);
    database.close();
    expect(() => new SqliteStore(old)).toThrow(expect.objectContaining({ details: { option: 'takeOver', path: old } }));
    const stores = [new SqliteStore(present), new SqliteStore(old, { takeOver: true })] as const;
    const query = queryOf('Observation', { kind: 'all' }, { sort: [{ parameter: 'date', descending: true }] });
    expect(await idsOf(stores[1], query)).toEqual(await idsOf(stores[0], query));
    for (const store of stores) await store.close();
    expect(contentOf(old)).toEqual(contentOf(present));
  });

  test('answers as before without shapes and with fewer indexes', async () => {
    const { present } = await makeFiles('shapes');
    const old = fileNamed('shapes-4.db');
    copyFileSync(present, old);
    const database = new Database(old);
    database.exec(TO_SCHEMA_4);
    database.close();
    const stores = [new SqliteStore(present), new SqliteStore(old, { takeOver: true })] as const;
    const query = queryOf('Patient', { kind: 'missing', parameter: 'birthdate', missing: true }, { total: true });
    const [right, answer] = await Promise.all(stores.map(async (store) => (await store.search(query)).total));
    expect(answer).toBe(right);
    expect((await stores[1].verify()).problems).toEqual([]);
    for (const store of stores) await store.close();
    expect(contentOf(old)).toEqual(contentOf(present));
  });

  test('is unchanged if the step fails', async () => {
    const { old } = await makeFiles('undone');
    const database = new Database(old);
    // The step adds this column after it has begun.
    database.exec('ALTER TABLE version ADD COLUMN sum TEXT');
    database.close();
    const before = contentOf(old);
    expect(() => new SqliteStore(old, { takeOver: true })).toThrow(
      expect.objectContaining({ name: 'FhirError', code: 'internal' }),
    );
    expect(contentOf(old)).toEqual(before);
  });

  test('is migrated once by two owners that open it at the same time', async () => {
    const { present, old } = await makeFiles('twice');
    const both = [new SqliteStore(old, { takeOver: true }), new SqliteStore(old, { takeOver: true })];
    for (const store of both) expect((await store.verify()).problems).toEqual([]);
    await Promise.all(both.map((store) => store.close()));
    expect(contentOf(old)).toEqual(contentOf(present));
  });
});

describe('a file that a newer version', () => {
  const CHANGES = [
    ['gave another form', `PRAGMA user_version = ${SCHEMA_VERSION + 1}`],
    ['indexed', `UPDATE meta SET value = '${INDEX_VERSION + 1}' WHERE name = 'index_version'`],
  ] as const;

  test.each(CHANGES)('%s is refused, and not changed', async (name, change) => {
    const { present } = await makeFiles(`newer ${name}`);
    const database = new Database(present);
    database.exec(change);
    database.close();
    const copy = fileNamed('newer-before.db');
    copyFileSync(present, copy);
    expect(() => new SqliteStore(present)).toThrow(
      expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('newer fhirgraph') }),
    );
    expect(readFileSync(present).equals(readFileSync(copy))).toBe(true);
  });

  test.each(CHANGES)('%s while it was open accepts no more writes of this version', async (name, change) => {
    const file = fileNamed(`overtaken ${name}.db`);
    const store = new SqliteStore(file);
    await putAll(store, resourceOf('Patient', 'a'));
    const database = new Database(file);
    database.exec(change);
    const overtaken = { code: 'unavailable', message: expect.stringContaining('newer fhirgraph') as string };
    await expect(putAll(store, resourceOf('Patient', 'b'))).rejects.toMatchObject(overtaken);
    await expect(store.reindex()).rejects.toMatchObject(overtaken);
    expect(await idsOf(store, queryOf('Patient'))).toEqual(['a']);
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
    database.prepare("UPDATE meta SET value = ? WHERE name = 'index_version'").run(String(INDEX_VERSION));
    database.close();
    await store.close();
  });
});
