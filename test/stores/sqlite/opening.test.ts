import Database from 'better-sqlite3';
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria } from '../../../src/store.js';
import { idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { modelWith } from '../models.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();

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
async function service(name: string): Promise<{ readonly file: string; readonly store: SqliteStore }> {
  const file = fileNamed(name);
  const store = new SqliteStore(file, { model: MODEL });
  await putAll(store, patient('a'));
  return { file, store };
}

/** A script uses the file. Afterwards, the service goes on as before. */
async function expectUndisturbed(store: SqliteStore, id: string): Promise<void> {
  await putAll(store, patient(id));
  expect(await idsOf(store, queryOf('Patient', MALES))).toContain(id);
  expect(await store.pendingParameters('clinic')).toEqual([]);
  expect((await store.verify()).problems).toEqual([]);
}

describe('a script with other definitions', () => {
  test('backs up, reads and verifies, and takes nothing over', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { file, store } = await service('script.db');
    const script = new SqliteStore(file);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('takeOver: true'), { code: 'FHIRGRAPH_INDEX' }]]);
    warn.mockRestore();
    await script.backup(fileNamed('script-copy.db'));
    expect((await script.read([keyOf('Patient', 'a')]))[0]!.status).toBe('found');
    expect(await idsOf(script, queryOf('Patient', BORN))).toEqual(['a']);
    expect((await script.verify()).problems).toEqual([]);
    await expect(script.search(queryOf('Patient', MALE))).rejects.toMatchObject({
      ...OTHERS,
      details: { type: 'Patient', parameter: 'gender', option: 'takeOver' },
    });
    await expect(putAll(script, patient('x'))).rejects.toMatchObject({ ...OTHERS, details: { option: 'takeOver' } });
    await expect(script.reindex()).rejects.toMatchObject(OTHERS);
    await expect(script.reindex({ pendingOnly: true })).rejects.toMatchObject(OTHERS);
    await expectUndisturbed(store, 'b');
    await script.close();
    await expectUndisturbed(store, 'c');
    await store.close();
  });

  test('takes over if it says that it owns the file', async () => {
    const { file, store } = await service('owner.db');
    const owner = new SqliteStore(file, { takeOver: true });
    expect(await idsOf(owner, queryOf('Patient', MALE))).toEqual(['a']);
    await putAll(owner, patient('b'));
    await expect(putAll(store, patient('c'))).rejects.toMatchObject(OTHERS);
    expect((await store.verify()).problems).toEqual([]);
    await Promise.all([owner.close(), store.close()]);
  });

  test('leaves an empty file to the store that writes first', async () => {
    const file = fileNamed('empty.db');
    const store = new SqliteStore(file, { model: MODEL });
    const script = new SqliteStore(file);
    await expectUndisturbed(store, 'a');
    await expect(putAll(script, patient('b'))).rejects.toMatchObject(OTHERS);
    await Promise.all([script.close(), store.close()]);
    const other = fileNamed('still-empty.db');
    await new SqliteStore(other).close();
    const later = new SqliteStore(other, { model: MODEL });
    await expectUndisturbed(later, 'a');
    await later.close();
  });

  test('of an older extraction answers only what does not depend on it', async () => {
    const { file, store } = await service('older.db');
    await store.close();
    const database = new Database(file);
    database.exec("UPDATE meta SET value = '1' WHERE name = 'index_version'; DELETE FROM token");
    database.close();
    const plain = new SqliteStore(file, { model: MODEL });
    await expect(plain.search(queryOf('Patient', BORN))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(putAll(plain, patient('b'))).rejects.toMatchObject(OTHERS);
    expect(await idsOf(plain, queryOf('Patient', { kind: 'id', ids: ['a'] }))).toEqual(['a']);
    expect((await plain.verify()).problems).toEqual([]);
    await plain.close();
    const owner = new SqliteStore(file, { model: MODEL, takeOver: true });
    expect(await idsOf(owner, queryOf('Patient', BORN))).toEqual(['a']);
    await owner.close();
  });
});

describe('a store with readonly: true', () => {
  test.each([
    ['by name', (file: string) => new SqliteStore(file, { readonly: true })],
    ['without threads', (file: string) => new SqliteStore(file, { readonly: true, readers: 0 })],
    ['over node:sqlite', (file: string) => new SqliteStore(new DatabaseSync(file), { readonly: true })],
    [
      'over a connection that only reads',
      (file: string) => new SqliteStore(new Database(file, { readonly: true }), { readonly: true }),
    ],
  ])('reads, searches, verifies and backs up beside a service, and writes nothing (%s)', async (name, open) => {
    const { file, store } = await service(`readonly ${name}.db`);
    const tool = open(file);
    expect((await tool.read([keyOf('Patient', 'a')]))[0]!.status).toBe('found');
    await putAll(store, patient('b'));
    expect(await idsOf(tool, queryOf('Patient', BORN))).toEqual(['a', 'b']);
    await expect(tool.search(queryOf('Patient', MALE))).rejects.toMatchObject(OTHERS);
    expect(await tool.verify()).toEqual({ resources: 2, problems: [] });
    const copy = fileNamed(`readonly ${name}-copy.db`);
    await tool.backup(copy);
    await expect(putAll(tool, patient('x'))).rejects.toMatchObject(WRITES_NOTHING);
    await expect(tool.reindex()).rejects.toMatchObject(WRITES_NOTHING);
    await expect(tool.reindex({ pendingOnly: true })).rejects.toMatchObject(WRITES_NOTHING);
    await expect(tool.removal.scrub()).rejects.toMatchObject(WRITES_NOTHING);
    await expect(tool.removal.removeProject('clinic')).rejects.toMatchObject(WRITES_NOTHING);
    await expectUndisturbed(store, 'c');
    await tool.close();
    await store.close();
    const before = readFileSync(copy);
    const reader = new SqliteStore(copy, { readonly: true, model: MODEL });
    expect(await idsOf(reader, queryOf('Patient', MALES))).toEqual(['a', 'b']);
    expect((await reader.verify()).problems).toEqual([]);
    await reader.close();
    expect(readFileSync(copy).equals(before)).toBe(true);
  });

  test('creates neither a file nor tables, and takes no other option', () => {
    const file = fileNamed('missing.db');
    expect(() => new SqliteStore(file, { readonly: true })).toThrow(expect.objectContaining({ code: 'unavailable' }));
    expect(existsSync(file)).toBe(false);
    const empty = new Database(':memory:');
    expect(() => new SqliteStore(empty, { readonly: true })).toThrow(
      expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('no store yet') as string }),
    );
    expect(() => new SqliteStore(file, { readonly: true, takeOver: true })).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    );
    expect(() => new SqliteStore(file, { readonly: 'yes' as never })).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    );
  });

  test('has no search on a file whose load has not ended', async () => {
    const file = fileNamed('loading.db');
    const store = new SqliteStore(file);
    await store.commit(Array.from({ length: 5_000 }, (_, n) => put(patient(`p${n}`))));
    const tool = new SqliteStore(file, { readonly: true });
    await expect(tool.search(queryOf('Patient', MALE))).rejects.toMatchObject(WRITES_NOTHING);
    expect((await tool.read([keyOf('Patient', 'p1')]))[0]!.status).toBe('found');
    await store.search(queryOf('Patient', MALE, { limit: 1 }));
    expect((await tool.search(queryOf('Patient', MALE, { limit: 1 }))).matches).toHaveLength(1);
    await Promise.all([tool.close(), store.close()]);
  });
});

describe('a file that is gone under a living store', () => {
  const GONE = { code: 'unavailable', message: expect.stringContaining('removed or replaced') as string };

  test.each<[string, (file: string) => void]>([
    ['removed', (file) => rmSync(file)],
    ['renamed', (file) => renameSync(file, `${file}.old`)],
    [
      'replaced by a copy',
      (file) => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
  ])('%s: the next commit is refused, and so is each later one', async (name, change) => {
    const file = fileNamed(`gone ${name}.db`);
    const store = new SqliteStore(file);
    await putAll(store, patient('a'));
    change(file);
    await expect(putAll(store, patient('b'))).rejects.toMatchObject(GONE);
    const many = Array.from({ length: 30 }, (_, n) => put(patient(`m${n}`)));
    await expect(store.commit(many)).rejects.toMatchObject(GONE);
    await expect(store.reindex()).rejects.toMatchObject(GONE);
    await expect(store.removal.removeProject('clinic')).rejects.toMatchObject(GONE);
    await store.close();
  });

  test('a thread never answers from another file in its place', async () => {
    const file = fileNamed('other.db');
    const store = new SqliteStore(file);
    await putAll(store, patient('a'));
    const other = new SqliteStore(fileNamed('restored.db'));
    await other.close();
    renameSync(fileNamed('restored.db'), file);
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const many = Array.from({ length: 30 }, (_, n) => put(patient(`m${n}`)));
    await expect(store.commit(many)).rejects.toMatchObject(GONE);
    warn.mockRestore();
    expect((await store.read([keyOf('Patient', 'a')]))[0]!.status).toBe('found');
    await store.close();
  });

  test('moved and put back, it takes writes again', async () => {
    const file = fileNamed('back.db');
    const store = new SqliteStore(file);
    await putAll(store, patient('a'));
    renameSync(file, `${file}.away`);
    await expect(putAll(store, patient('b'))).rejects.toMatchObject(GONE);
    renameSync(`${file}.away`, file);
    await putAll(store, patient('b'));
    await store.close();
  });
});

test('opening a file walks through none of its resources', async () => {
  const file = fileNamed('many.db');
  const store = new SqliteStore(file);
  await putAll(store, patient('a'));
  await store.close();
  const all = vi.spyOn(Statements.prototype, 'all');
  await new SqliteStore(file).close();
  const statements = all.mock.calls.map(([statement]) => statement);
  all.mockRestore();
  expect(statements.some(({ text }) => text.includes('JOIN resource r'))).toBe(true);
  const database = new Database(file);
  const plans = statements.flatMap(
    ({ text, values }) => database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as { detail: string }[],
  );
  // A subquery may have the name of the table.
  expect(plans.filter(({ detail }) => /^SCAN (?:resource|r USING)/.test(detail))).toEqual([]);
  database.close();
});
