import type { PGlite } from '@electric-sql/pglite';
import { expect, test, vi } from 'vitest';
import { pglitePool, PostgresStore } from '../../../src/postgres.js';
import type { Criteria } from '../../../src/store.js';
import { idsOf, keyOf, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { SCHEMA_VERSION } from '../../../src/stores/postgres/schema/prepare-schema.js';
import { modelWith } from '../models.js';
import { bareDatabase } from './pool.js';

/** The definitions of the service; scripts have R4. */
const MODEL = modelWith('Patient', { gender: { type: 'string' } });
const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
const MALES: Criteria = {
  kind: 'match',
  parameter: 'gender',
  test: { kind: 'string', comparator: 'starts-with', text: 'male' },
};
const BORN: Criteria = { kind: 'missing', parameter: 'birthdate', missing: false };
const OTHERS = {
  code: 'unavailable',
  message: expect.stringMatching(/made with other definitions.*takeOver: true/) as string,
};
const WRITES_NOTHING = { code: 'unavailable', message: expect.stringContaining('readonly: true') as string };

const patient = (id: string): ReturnType<typeof resourceOf> =>
  resourceOf('Patient', id, { gender: 'male', birthDate: '1980-01-01' });

/** A service with a patient, whose definitions are not R4. */
async function service(): Promise<{ readonly database: PGlite; readonly store: PostgresStore }> {
  const database = await bareDatabase();
  const store = new PostgresStore(pglitePool(database), { model: MODEL });
  await putAll(store, patient('a'));
  return { database, store };
}

async function expectUndisturbed(store: PostgresStore, id: string): Promise<void> {
  await putAll(store, patient(id));
  expect(await idsOf(store, queryOf('Patient', MALES))).toContain(id);
  expect(await store.pendingParameters('clinic')).toEqual([]);
  expect((await store.verify()).problems).toEqual([]);
}

test('a script with other definitions reads and verifies, and takes nothing over', async () => {
  const { database, store } = await service();
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const script = new PostgresStore(pglitePool(database));
  expect((await script.read([keyOf('Patient', 'a')]))[0]!.status).toBe('found');
  expect(warn.mock.calls).toEqual([[expect.stringContaining('takeOver: true'), { code: 'FHIRGRAPH_INDEX' }]]);
  warn.mockRestore();
  expect(await idsOf(script, queryOf('Patient', BORN))).toEqual(['a']);
  expect((await script.verify()).problems).toEqual([]);
  await expect(script.search(queryOf('Patient', MALE))).rejects.toMatchObject({
    ...OTHERS,
    details: { type: 'Patient', parameter: 'gender', option: 'takeOver' },
  });
  await expect(putAll(script, patient('x'))).rejects.toMatchObject({ ...OTHERS, details: { option: 'takeOver' } });
  await expect(script.reindex()).rejects.toMatchObject(OTHERS);
  await expectUndisturbed(store, 'b');
  const owner = new PostgresStore(pglitePool(database), { takeOver: true });
  expect(await idsOf(owner, queryOf('Patient', MALE))).toEqual(['a', 'b']);
  await putAll(owner, patient('c'));
  await expect(putAll(store, patient('d'))).rejects.toMatchObject(OTHERS);
  await Promise.all([script.close(), store.close(), owner.close()]);
});

test('an empty database belongs to the store that writes first', async () => {
  const database = await bareDatabase();
  const store = new PostgresStore(pglitePool(database), { model: MODEL });
  await store.read([keyOf('Patient', 'a')]);
  const script = new PostgresStore(pglitePool(database));
  await script.read([keyOf('Patient', 'a')]);
  await expectUndisturbed(store, 'a');
  await expect(putAll(script, patient('b'))).rejects.toMatchObject(OTHERS);
  await Promise.all([script.close(), store.close()]);
});

test('readonly: true reads, searches and verifies where nothing may be written', async () => {
  const { database, store } = await service();
  await database.exec('SET default_transaction_read_only = on');
  const tool = new PostgresStore(pglitePool(database), { readonly: true });
  expect((await tool.read([keyOf('Patient', 'a')]))[0]!.status).toBe('found');
  expect(await idsOf(tool, queryOf('Patient', BORN))).toEqual(['a']);
  expect((await tool.search(queryOf('Patient', BORN, { total: true }))).total).toBe(1);
  await expect(tool.search(queryOf('Patient', MALE))).rejects.toMatchObject(OTHERS);
  expect(await tool.verify()).toEqual({ resources: 1, problems: [] });
  await expect(putAll(tool, patient('x'))).rejects.toMatchObject(WRITES_NOTHING);
  await expect(tool.reindex()).rejects.toMatchObject(WRITES_NOTHING);
  await expect(tool.vacuum()).rejects.toMatchObject(WRITES_NOTHING);
  await expect(tool.removal.removeProject('clinic')).rejects.toMatchObject(WRITES_NOTHING);
  await tool.close();
  await database.exec('SET default_transaction_read_only = off');
  await expectUndisturbed(store, 'b');
  await store.close();
});

test('a database of an older version is migrated by its owner only, and none is created by a reader', async () => {
  const database = await bareDatabase();
  const reader = new PostgresStore(pglitePool(database), { readonly: true });
  await expect(reader.read([])).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('no store yet') as string,
  });
  const store = new PostgresStore(pglitePool(database));
  await putAll(store, patient('a'));
  await database.exec(`${['list', 'row', 'written'].map((name) => `DROP TABLE fhirgraph_segment_${name}`).join(';')};
    DROP TABLE fhirgraph_change; DROP SEQUENCE fhirgraph_turn; DELETE FROM fhirgraph_meta WHERE name = 'feed_secret';
    ALTER TABLE fhirgraph_writer RENAME COLUMN definitions TO generation;
    ALTER TABLE resource ADD COLUMN shape uuid; CREATE TABLE fhirgraph_shape (key uuid);
    CREATE TABLE fhirgraph_skip_type (project uuid NOT NULL, type text NOT NULL, built int NOT NULL);
    UPDATE fhirgraph_meta SET value = '8' WHERE name = 'schema_version'`);
  for (const options of [{}, { readonly: true }]) {
    await expect(new PostgresStore(pglitePool(database), options).read([])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/schema version 8.*takeOver: true/) as string,
      details: { option: 'takeOver' },
    });
  }
  const owner = new PostgresStore(pglitePool(database), { takeOver: true });
  expect(await idsOf(owner, queryOf('Patient', MALE))).toEqual(['a']);
  const { rows } = await database.query("SELECT value FROM fhirgraph_meta WHERE name = 'schema_version'");
  expect(rows).toEqual([{ value: String(SCHEMA_VERSION) }]);
  await owner.close();
});
