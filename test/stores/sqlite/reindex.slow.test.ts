import Database from 'better-sqlite3';
import { copyFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, ReindexProgress } from '../../../src/store.js';
import { idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import type { ParameterFingerprints } from '../../../src/search/index/parameter-fingerprints.js';
import { until } from '../../support/until.js';
import { modelWith } from '../models.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const OWNER = { takeOver: true } as const;
const MANUAL = { ...OWNER, reindex: 'manual' } as const;

const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
const BORN: Criteria = {
  kind: 'match',
  parameter: 'birthdate',
  test: { kind: 'date', prefix: 'ge', low: 0, high: 1 },
};
const OF_MALES: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: MALE };
const MEASURED: Criteria = {
  kind: 'has',
  type: 'Observation',
  parameter: 'subject',
  of: { kind: 'missing', parameter: 'date', missing: false },
};
const PENDING = { code: 'unavailable', message: expect.stringContaining('by gender yet') as string };

/** The same with so many resources that they are not indexed at once. */
async function large(name: string): Promise<string> {
  largeFile ??= filled('origin.db', 1001);
  const file = fileNamed(name);
  copyFileSync(await largeFile, file);
  return file;
}

let largeFile: Promise<string> | undefined;

/** Patients p0 … and an Observation of each, in two projects. */
async function filled(name: string, count = 30): Promise<string> {
  const file = fileNamed(name);
  const store = new SqliteStore(file);
  for (const project of ['clinic', 'other']) {
    await store.commit(
      Array.from({ length: count }, (_, n) => [
        put(patient(n), {}, project),
        put(resourceOf('Observation', `o${n}`, { subject: { reference: `Patient/p${n}` } }), {}, project),
      ]).flat(),
    );
  }
  await store.close();
  return file;
}

function untilIndexed(store: SqliteStore, project: string): Promise<void> {
  return until(async () => (await store.pendingParameters(project)).length === 0);
}

function patient(n: number): ReturnType<typeof resourceOf> {
  return resourceOf('Patient', `p${n}`, { gender: 'male', birthDate: '1980-01-01', name: [{ family: 'Doe' }] });
}

/** The file as a process with another definition of these parameters leaves it: with other rows, here without rows. */
function remakeWithout(file: string, codes: { readonly [type: string]: readonly string[] }): void {
  const database = new Database(file);
  const read = database.prepare("SELECT value FROM meta WHERE name = 'index_parameters'").pluck();
  const parameters = JSON.parse(read.get() as string) as Record<string, Record<string, string>>;
  for (const [type, ofType] of Object.entries(codes)) {
    for (const code of ofType) {
      parameters[type]![code] = 'another';
      for (const table of ['token', 'string', 'date', 'quantity', 'reference', 'uri']) {
        database
          .prepare(
            `DELETE FROM ${table} WHERE parameter IN (SELECT p.key FROM parameter p JOIN collection c ON c.key = p.collection
             WHERE c.type = ? AND p.code = ?)`,
          )
          .run(type, code);
      }
    }
  }
  const write = database.prepare('UPDATE meta SET value = ? WHERE name = ?');
  write.run(JSON.stringify(parameters satisfies ParameterFingerprints), 'index_parameters');
  write.run('another', 'index_definitions');
  database.prepare("UPDATE meta SET value = value + 1 WHERE name = 'index_epoch'").run();
  database.close();
}

/** Every index row of the file, by names. */
function rowsIn(file: string): unknown {
  const database = new Database(file, { readonly: true });
  const rows = ['token', 'string', 'date', 'quantity', 'reference', 'uri'].map((table) =>
    database
      .prepare(
        `SELECT c.project, c.type, r.id, p.code, t.* FROM ${table} t JOIN resource r ON r.key = t.resource
         JOIN collection c ON c.key = r.collection JOIN parameter p ON p.key = t.parameter
         ORDER BY c.project, c.type, r.id, p.code, grp, ordinal`,
      )
      .all()
      .map((row) => ({ ...(row as object), parameter: 0, ordinal: 0 })),
  );
  database.close();
  return rows;
}

describe('a file with rows of another definition of a parameter', () => {
  test('answers by all other parameters, and by that one when its rows are rebuilt', async () => {
    const file = await filled('one.db');
    const before = rowsIn(file);
    remakeWithout(file, { Patient: ['gender'] });
    const store = new SqliteStore(file, MANUAL);
    expect(await store.pendingParameters('clinic')).toEqual([{ type: 'Patient', parameter: 'gender' }]);
    expect(await store.pendingParameters('nowhere')).toEqual([]);
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    expect(await idsOf(store, queryOf('Patient', BORN))).toHaveLength(30);
    expect(
      await idsOf(store, queryOf('Observation', { kind: 'missing', parameter: 'subject', missing: true })),
    ).toEqual([]);
    const progress: ReindexProgress[] = [];
    expect(await store.reindex({ pendingOnly: true, onProgress: (one) => progress.push(one) })).toBe(60);
    expect(progress.filter(({ done, total }) => done === total)).toEqual([
      { project: 'clinic', type: 'Patient', done: 30, total: 30 },
      { project: 'other', type: 'Patient', done: 30, total: 30 },
    ]);
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(30);
    expect(await store.pendingParameters('clinic')).toEqual([]);
    expect(rowsIn(file)).toEqual(before);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test.each<[name: string, type: string, criteria: Criteria]>([
    ['a condition', 'Patient', MALE],
    ['a negation', 'Patient', { kind: 'not', of: MALE }],
    ['a missing value', 'Patient', { kind: 'missing', parameter: 'gender', missing: true }],
    ['an alternative', 'Patient', { kind: 'or', of: [BORN, MALE] }],
    ['a chain', 'Observation', OF_MALES],
    ['a chain within a chain back', 'Patient', { ...MEASURED, of: OF_MALES }],
  ])('refuses %s that uses it, and nothing else', async (_name, type, criteria) => {
    const file = await filled('forms.db', 2);
    remakeWithout(file, { Patient: ['gender'] });
    const store = new SqliteStore(file, MANUAL);
    const query = queryOf(type, criteria, { total: true });
    await expect(store.search(query)).rejects.toMatchObject(PENDING);
    await expect(store.search({ ...query, limit: 0 })).rejects.toMatchObject(PENDING);
    await expect(
      store.commit([put(resourceOf('Basic', 'b')), { kind: 'assert-no-match', query }]),
    ).rejects.toMatchObject(PENDING);
    const targets = [{ type: 'Organization', id: 'x' }];
    await expect(store.searchByReference(query, 'organization', targets)).rejects.toMatchObject(PENDING);
    expect((await store.read([keyOf('Basic', 'b')]))[0]!.status).toBe('missing');
    expect(await idsOf(store, { ...query, project: 'empty' })).toEqual([]);
    await store.close();
  });

  test('refuses sorts, reverse references and composites that use it', async () => {
    const file = await filled('others.db', 2);
    remakeWithout(file, { Patient: ['gender'], Observation: ['subject', 'code-value-quantity'] });
    const store = new SqliteStore(file, MANUAL);
    const sort = [{ parameter: 'gender', descending: false }];
    await expect(store.search(queryOf('Patient', { kind: 'all' }, { sort }))).rejects.toMatchObject(PENDING);
    const targets = [{ type: 'Patient', id: 'p1' }];
    await expect(store.searchByReference(queryOf('Observation'), 'subject', targets)).rejects.toMatchObject({
      code: 'unavailable',
      details: { type: 'Observation', parameter: 'subject', percent: 0 },
    });
    await expect(store.search(queryOf('Patient', MEASURED))).rejects.toMatchObject({ code: 'unavailable' });
    const composite: Criteria = { kind: 'composite', parameter: 'code-value-quantity', tests: [] };
    await expect(store.search(queryOf('Observation', composite))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await idsOf(store, queryOf('Patient', { kind: 'id', ids: ['p1'] }))).toEqual(['p1']);
    const updated = [{ parameter: '_lastUpdated', descending: true }];
    expect(await idsOf(store, queryOf('Patient', { kind: 'all' }, { sort: updated }))).toHaveLength(2);
    await store.close();
  });

  test('is completed project by project', async () => {
    const file = await filled('projects.db');
    remakeWithout(file, { Patient: ['gender'] });
    const store = new SqliteStore(file, MANUAL);
    expect(await store.reindex({ pendingOnly: true, project: 'other' })).toBe(30);
    expect(await idsOf(store, { ...queryOf('Patient', MALE), project: 'other' })).toHaveLength(30);
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await store.close();
  });

  test('is completed when it is opened, unless it is large', async () => {
    const file = await filled('small.db');
    remakeWithout(file, { Patient: ['gender'] });
    const store = new SqliteStore(file, OWNER);
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(30);
    await store.close();
  });

  test('is completed in the background, beside reads and writes, and even if the store closed early', async () => {
    const file = await large('large.db');
    remakeWithout(file, { Patient: ['gender'] });
    const early = new SqliteStore(file, OWNER);
    await expect(early.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await early.close();
    const store = new SqliteStore(file, OWNER);
    await putAll(store, { ...patient(5), gender: 'female' } as never, patient(2000));
    await untilIndexed(store, 'clinic');
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(1001);
    await untilIndexed(store, 'other');
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test('keeps its progress when the process ends, and repeats no batch', async () => {
    const file = await filled('resumed.db', 600);
    remakeWithout(file, { Patient: ['gender'] });
    const first = new SqliteStore(file, MANUAL);
    const stop = new Error('killed');
    const done: number[] = [];
    const breakOff = first.reindex({
      pendingOnly: true,
      onProgress: ({ done: now }) => {
        done.push(now);
        throw stop;
      },
    });
    await expect(breakOff).rejects.toBe(stop);
    await first.close();
    expect(done[0]).toBeGreaterThan(0);
    const second = new SqliteStore(file, MANUAL);
    expect(await second.reindex({ pendingOnly: true })).toBe(1200 - done[0]!);
    expect((await second.verify()).problems).toEqual([]);
    await second.close();
  });

  test('ends with a signal, and continues later', async () => {
    const file = await filled('aborted.db', 2);
    remakeWithout(file, { Patient: ['gender'] });
    const store = new SqliteStore(file, MANUAL);
    await expect(store.reindex({ pendingOnly: true, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(await store.reindex({ pendingOnly: true })).toBe(4);
    await store.close();
  });

  test('that differs only in texts for people is complete', async () => {
    const file = await filled('texts.db', 2);
    const store = new SqliteStore(file, { ...MANUAL, model: modelWith('Patient', { gender: { short: 'Of whom?' } }) });
    expect(await store.pendingParameters('clinic')).toEqual([]);
    await putAll(store, patient(7));
    await store.close();
  });
});

describe('values of contained resources', () => {
  const holding = (id: string): ReturnType<typeof resourceOf> =>
    resourceOf('Observation', id, {
      contained: [{ resourceType: 'Patient', id: 'p', gender: 'male', birthDate: '1980-01-01' }],
      subject: { reference: '#p' },
    });

  test('are rebuilt when the parameters of their type change, and until then no chain answers', async () => {
    const file = fileNamed('contained.db');
    const origin = new SqliteStore(file);
    await putAll(origin, holding('a'), holding('b'), patient(1));
    await putAll(origin, resourceOf('Condition', 'c', { subject: { reference: 'Patient/p1' } }));
    expect(await idsOf(origin, queryOf('Observation', OF_MALES))).toEqual(['a', 'b']);
    await origin.close();
    const before = rowsIn(file);
    remakeWithout(file, { Patient: ['gender'] });
    const database = new Database(file);
    database.exec("DELETE FROM token WHERE parameter = (SELECT key FROM parameter WHERE code = '#Patient.gender')");
    database.close();
    const store = new SqliteStore(file, MANUAL);
    expect(await store.pendingParameters('clinic')).toEqual([
      { type: 'Observation', parameter: '#Patient' },
      { type: 'Patient', parameter: 'gender' },
    ]);
    await store.reindex({ pendingOnly: true, onProgress: ({ type }) => expect(type).not.toBe('Condition') });
    expect(await idsOf(store, queryOf('Observation', OF_MALES))).toEqual(['a', 'b']);
    expect(rowsIn(file)).toEqual(before);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
});

describe('two stores with different definitions of a parameter', () => {
  const OTHER = modelWith('Patient', { gender: { type: 'string' } });
  const WITHOUT = modelWith('Patient', { gender: undefined });

  test('do not both write: the last opened store does', async () => {
    const file = await filled('two.db', 2);
    const first = new SqliteStore(file, MANUAL);
    expect(await idsOf(first, queryOf('Patient', MALE))).toHaveLength(2);
    const second = new SqliteStore(file, { ...MANUAL, model: OTHER });
    const refused = { code: 'unavailable', message: expect.stringContaining('made with other definitions') as string };
    await expect(putAll(first, patient(9))).rejects.toMatchObject(refused);
    await expect(first.search(queryOf('Patient', MALE))).rejects.toMatchObject(refused);
    await expect(first.reindex()).rejects.toMatchObject(refused);
    await expect(first.reindex({ pendingOnly: true })).rejects.toMatchObject(refused);
    expect(await idsOf(first, queryOf('Patient', BORN))).toHaveLength(2);
    expect((await first.read([keyOf('Patient', 'p1')]))[0]!.status).toBe('found');
    await second.reindex({ pendingOnly: true });
    await putAll(second, patient(9));
    await expect(first.search(queryOf('Patient', MALE))).rejects.toMatchObject(refused);
    await first.close();
    const again = new SqliteStore(file, MANUAL);
    await expect(again.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await again.reindex({ pendingOnly: true });
    expect(await idsOf(again, queryOf('Patient', MALE))).toHaveLength(3);
    await expect(putAll(second, patient(8))).rejects.toMatchObject(refused);
    await expect(second.search(queryOf('Patient', MALE))).rejects.toMatchObject(refused);
    const given = new SqliteStore(file, { ...MANUAL, model: OTHER });
    await given.reindex({ pendingOnly: true });
    expect(await idsOf(second, queryOf('Patient', BORN))).toHaveLength(3);
    expect(
      (await second.search(queryOf('Patient', { kind: 'missing', parameter: 'gender', missing: true }))).matches,
    ).toEqual([]);
    await putAll(second, patient(8));
    await given.close();
    await Promise.all([again.close(), second.close()]);
  });

  test('on one connection do not both write either', async () => {
    const database = new Database(':memory:');
    const first = new SqliteStore(database, MANUAL);
    await putAll(first, patient(1));
    const second = new SqliteStore(database, { ...MANUAL, model: OTHER });
    await expect(first.search(queryOf('Patient', MALE))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(second.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    database.close();
  });

  test('leave no rows of a parameter that is gone, and start it again when it returns', async () => {
    const file = await filled('gone.db', 2);
    const without = new SqliteStore(file, { ...MANUAL, model: WITHOUT });
    await without.reindex({ pendingOnly: true });
    await without.close();
    const back = new SqliteStore(file, MANUAL);
    await expect(back.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await back.reindex({ pendingOnly: true });
    expect(await idsOf(back, queryOf('Patient', MALE))).toHaveLength(2);
    await back.close();
  });

  test('a project that is new is complete from its first resource', async () => {
    const file = await filled('new.db', 2);
    const store = new SqliteStore(file, { ...MANUAL, model: OTHER });
    await store.commit([put(patient(1), {}, 'fresh')]);
    expect(await store.pendingParameters('fresh')).toEqual([]);
    await store.close();
  });

  test('a change during reindexing leaves both parameters pending, from the start', async () => {
    const file = await filled('twice.db', 300);
    remakeWithout(file, { Patient: ['gender'] });
    const first = new SqliteStore(file, MANUAL);
    const stop = new Error('killed');
    const breakOff = (): never => {
      throw stop;
    };
    await expect(first.reindex({ pendingOnly: true, onProgress: breakOff })).rejects.toBe(stop);
    await first.close();
    remakeWithout(file, { Patient: ['birthdate'] });
    const second = new SqliteStore(file, MANUAL);
    expect(await second.pendingParameters('other')).toEqual([
      { type: 'Patient', parameter: 'birthdate' },
      { type: 'Patient', parameter: 'gender' },
    ]);
    expect(await second.reindex({ pendingOnly: true })).toBe(600);
    expect(await idsOf(second, queryOf('Patient', { kind: 'and', of: [MALE, BORN] }))).toHaveLength(300);
    expect((await second.verify()).problems).toEqual([]);
    await second.close();
  });
});

describe('reindexing that fails', () => {
  test('is a warning, and leaves the parameter unavailable', async () => {
    const file = await large('damaged.db');
    remakeWithout(file, { Patient: ['gender'] });
    const database = new Database(file);
    database.exec("UPDATE version SET text = replace(text, 'male', 'mule')");
    database.close();
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = new SqliteStore(file, OWNER);
    await until(() => warn.mock.calls.length > 0);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('Re-indexing failed'), {
      code: 'FHIRGRAPH_INDEX',
    });
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await store.close();
    warn.mockRestore();
  });

  test('of one type goes on with the others', async () => {
    const file = await filled('one-type.db');
    remakeWithout(file, { Patient: ['gender'], Observation: ['subject'] });
    const damage = (text: string): void => {
      const database = new Database(file);
      const damaged = database.prepare(
        `UPDATE version SET text = replace(text, ?, ?) WHERE resource = (SELECT r.key FROM resource r
         JOIN collection c ON c.key = r.collection WHERE c.project = 'clinic' AND c.type = 'Patient' AND r.id = 'p3')`,
      );
      damaged.run(text === 'mule' ? 'male' : 'mule', text);
      database.close();
    };
    damage('mule');
    const manual = new SqliteStore(file, MANUAL);
    await expect(manual.reindex({ pendingOnly: true })).rejects.toMatchObject({ code: 'corrupt' });
    expect(await manual.pendingParameters('clinic')).toEqual([{ type: 'Patient', parameter: 'gender' }]);
    expect(await manual.pendingParameters('other')).toEqual([]);
    await manual.close();
    remakeWithout(file, { Observation: ['subject'] });
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = new SqliteStore(file, OWNER);
    await until(async () => (await store.pendingParameters('clinic')).length === 1);
    await untilIndexed(store, 'other');
    await until(() => warn.mock.calls.length > 0);
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    damage('male');
    await untilIndexed(store, 'clinic');
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(30);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
    warn.mockRestore();
  });

  test('waits for another process that writes, without a warning', async () => {
    const file = await large('locked.db');
    remakeWithout(file, { Patient: ['gender'] });
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = new SqliteStore(file, OWNER);
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    await new Promise((resolve) => setTimeout(resolve, 120));
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    other.close();
    await untilIndexed(store, 'clinic');
    expect(warn).not.toHaveBeenCalled();
    await store.close();
    warn.mockRestore();
  });
});

test('all rows of a project are rebuilt while it can be searched', async () => {
  const file = await filled('project.db');
  const before = rowsIn(file);
  const store = new SqliteStore(file);
  const database = new Database(file);
  database.exec('DELETE FROM token; DELETE FROM date');
  const found = new Set<string>();
  const onProgress = ({ project, type }: ReindexProgress): void => void found.add(`${project}/${type}`);
  expect(await store.reindex({ project: 'clinic', onProgress })).toBe(60);
  expect([...found].sort()).toEqual(['clinic/Observation', 'clinic/Patient']);
  expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(30);
  expect(await idsOf(store, { ...queryOf('Patient', MALE), project: 'other' })).toEqual([]);
  expect(await store.reindex({ project: 'other' })).toBe(60);
  expect(rowsIn(file)).toEqual(before);
  database.close();
  await store.close();
});

test('a process that lives through a rebuild by another one still counts right', async () => {
  const file = fileNamed('counted.db');
  const [one, other] = [new SqliteStore(file, { readers: 0 }), new SqliteStore(file, { readers: 0 })];
  const patient = (id: string, elements = {}) => put(resourceOf('Patient', id, elements));
  await other.commit([patient('a'), patient('b', { gender: 'male' })]);
  await other.commit([patient('a', { active: true })]);
  await one.reindex();
  await other.commit([patient('c', { gender: 'male' }), patient('d', { active: true }), patient('e')]);
  expect((await other.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total).toBe(5);
  expect((await one.verify()).problems).toEqual([]);
  for (const store of [one, other]) await store.close();
});
