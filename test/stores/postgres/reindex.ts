import type { PGlite } from '@electric-sql/pglite';
import { describe, expect, test, vi } from 'vitest';
import { pglitePool, type PostgresPool, PostgresStore } from '../../../src/postgres.js';
import type { Criteria, ReindexProgress } from '../../../src/store.js';
import { idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { parameterKey } from '../../../src/stores/postgres/rows/keys.js';
import { until } from '../../support/until.js';
import { modelWith } from '../models.js';
import { newDatabase } from './pool.js';

const OWNER = { takeOver: true } as const;
const MANUAL = { ...OWNER, reindex: 'manual' } as const;
const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
const BORN: Criteria = {
  kind: 'match',
  parameter: 'birthdate',
  test: { kind: 'date', prefix: 'ge', low: 0, high: 1 },
};
const OF_MALES: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: MALE };
const PENDING = { code: 'unavailable', message: expect.stringContaining('by gender yet') as string };
const INDEX = ['token', 'string', 'date', 'quantity', 'reference', 'uri', 'display'];

function patient(n: number): ReturnType<typeof resourceOf> {
  return resourceOf('Patient', `p${n}`, { gender: 'male', birthDate: '1980-01-01', name: [{ family: 'Doe' }] });
}

/** Patients p0 … and an Observation of each, in two projects. */
async function filled(count = 30): Promise<PGlite> {
  const database = await newDatabase();
  const store = new PostgresStore(pglitePool(database));
  for (const project of ['clinic', 'other']) {
    await store.commit(
      Array.from({ length: count }, (_, n) => [
        put(resourceOf('Patient', `p${n}`, { ...patient(n), meta: { project } }), {}, project),
        put(resourceOf('Observation', `o${n}`, { subject: { reference: `Patient/p${n}` } }), {}, project),
      ]).flat(),
    );
  }
  await store.close();
  return database;
}

/** The database as a process with another definition of a parameter leaves it: with other rows, here without rows. */
async function remakeWithout(database: PGlite, type: string, code: string, keys = [code]): Promise<void> {
  const { rows } = await database.query<{ value: string }>(
    "SELECT value FROM fhirgraph_meta WHERE name = 'index_parameters'",
  );
  const parameters = JSON.parse(rows[0]!.value) as Record<string, Record<string, string>>;
  parameters[type]![code] = 'another';
  await database.query("UPDATE fhirgraph_meta SET value = $1 WHERE name = 'index_parameters'", [
    JSON.stringify(parameters),
  ]);
  const numbers = keys.map((key) => parameterKey(type, key)).join(', ');
  await database.exec(`UPDATE fhirgraph_meta SET value = 'another' WHERE name = 'index_definitions';
    UPDATE fhirgraph_meta SET value = (value::bigint + 1)::text WHERE name IN ('index_epoch', 'index_generation');
    UPDATE fhirgraph_writer SET definitions = definitions + 1;
    ${INDEX.map((table) => `DELETE FROM ${table} WHERE parameter IN (${numbers})`).join(';')}`);
}

async function rowsIn(database: PGlite): Promise<unknown> {
  return Promise.all(
    INDEX.map(async (table) => (await database.query(`SELECT * FROM ${table} AS t ORDER BY t::text`)).rows),
  );
}

describe('a database with rows of another definition of a parameter', () => {
  test('answers by all other parameters, and by that one when its rows are rebuilt', async () => {
    const database = await filled();
    const before = await rowsIn(database);
    await remakeWithout(database, 'Patient', 'gender');
    const store = new PostgresStore(pglitePool(database), MANUAL);
    expect(await store.pendingParameters('clinic')).toEqual([{ type: 'Patient', parameter: 'gender' }]);
    expect(await store.pendingParameters('nowhere')).toEqual([]);
    for (const [type, criteria] of [
      ['Patient', MALE],
      ['Patient', { kind: 'not', of: MALE }],
      ['Patient', { kind: 'missing', parameter: 'gender', missing: true }],
      ['Observation', OF_MALES],
      ['Patient', { kind: 'has', type: 'Observation', parameter: 'subject', of: OF_MALES }],
    ] as const) {
      const query = queryOf(type, criteria, { total: true });
      await expect(store.search(query)).rejects.toMatchObject(PENDING);
      await expect(store.search({ ...query, limit: 0 })).rejects.toMatchObject(PENDING);
      await expect(store.searchByReference(query, 'subject', [{ type: 'Patient', id: 'p' }])).rejects.toMatchObject(
        PENDING,
      );
      const commit = store.commit([put(resourceOf('Basic', 'b')), { kind: 'assert-no-match', query }]);
      await expect(commit).rejects.toMatchObject(PENDING);
    }
    const sort = [{ parameter: 'gender', descending: true }];
    await expect(store.search(queryOf('Patient', { kind: 'all' }, { sort }))).rejects.toMatchObject(PENDING);
    expect((await store.read([keyOf('Basic', 'b')]))[0]!.status).toBe('missing');
    expect(await idsOf(store, queryOf('Patient', BORN))).toHaveLength(30);
    expect(await idsOf(store, { ...queryOf('Patient', MALE), project: 'empty' })).toEqual([]);

    const progress: ReindexProgress[] = [];
    const onProgress = (one: ReindexProgress): void => void progress.push(one);
    expect(await store.reindex({ pendingOnly: true, project: 'other', onProgress })).toBe(30);
    expect(await idsOf(store, { ...queryOf('Patient', MALE), project: 'other' })).toHaveLength(30);
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    expect(await store.reindex({ pendingOnly: true, onProgress })).toBe(30);
    expect(progress).toEqual([
      { project: 'other', type: 'Patient', done: 30, total: 30 },
      { project: 'clinic', type: 'Patient', done: 30, total: 30 },
    ]);
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(30);
    expect(await store.pendingParameters('clinic')).toEqual([]);
    expect(await rowsIn(database)).toEqual(before);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test('is completed with the first call if it is small', async () => {
    const database = await filled(2);
    await database.exec("UPDATE fhirgraph_meta SET value = '0' WHERE name = 'index_version'; DELETE FROM token");
    const store = new PostgresStore(pglitePool(database), OWNER);
    expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['p0', 'p1']);
    expect(await store.pendingParameters('clinic')).toEqual([]);
    await store.close();
  });

  test('keeps its progress when the process ends, and repeats no batch', async () => {
    const database = await filled(250);
    await remakeWithout(database, 'Patient', 'gender');
    const stop = new Error('killed');
    const first = new PostgresStore(pglitePool(database), MANUAL);
    const breakOff = (): never => {
      throw stop;
    };
    await expect(first.reindex({ pendingOnly: true, onProgress: breakOff })).rejects.toBe(stop);
    await first.close();
    const second = new PostgresStore(pglitePool(database), MANUAL);
    await expect(second.search(queryOf('Patient', MALE))).rejects.toMatchObject({ details: { percent: 80 } });
    await putAll(second, resourceOf('Patient', 'p0', { gender: 'female' }), patient(999));
    expect(await second.reindex({ pendingOnly: true })).toBe(301);
    expect(await idsOf(second, queryOf('Patient', MALE))).toHaveLength(250);
    expect((await second.verify()).problems).toEqual([]);
    await second.close();
  });

  test('is completed in the background if that failed at first, with a warning', async () => {
    const database = await filled(2);
    await remakeWithout(database, 'Patient', 'gender');
    await database.exec("UPDATE resource SET content = '{' WHERE id = 'p1'");
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = new PostgresStore(pglitePool(database), OWNER);
    await expect(store.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await until(() => warn.mock.calls.length > 0);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('not JSON'), { code: 'FHIRGRAPH_INDEX' });
    warn.mockRestore();
    await database.exec(
      `UPDATE resource SET content = '{"resourceType":"Patient","id":"p1","gender":"male","meta":{"versionId":"1","lastUpdated":"2020-01-01T00:00:00.000Z"}}' WHERE id = 'p1'`,
    );
    for (const project of ['clinic', 'other'])
      await until(async () => (await store.pendingParameters(project)).length === 0);
    expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['p0', 'p1']);
    await store.close();
  });

  test('is completed for all other types and projects, if a resource is damaged', async () => {
    const database = await filled(2);
    await remakeWithout(database, 'Patient', 'gender');
    await remakeWithout(database, 'Observation', 'subject');
    const { rows } = await database.query<{ project: string; content: string }>(
      "SELECT project, content FROM resource WHERE id = 'o1' ORDER BY project LIMIT 1",
    );
    const of = `id = 'o1' AND project = '${rows[0]!.project}'`;
    await database.exec(`UPDATE resource SET content = '{' WHERE ${of}`);
    const store = new PostgresStore(pglitePool(database), MANUAL);
    await expect(store.reindex({ pendingOnly: true })).rejects.toMatchObject({ code: 'corrupt' });
    const left = [await store.pendingParameters('clinic'), await store.pendingParameters('other')];
    expect(left.flat()).toEqual([{ type: 'Observation', parameter: 'subject' }]);
    await database.query(`UPDATE resource SET content = $1 WHERE ${of}`, [rows[0]!.content]);
    expect(await store.reindex({ pendingOnly: true })).toBe(2);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test('has the values of contained resources rebuilt', async () => {
    const database = await newDatabase();
    const origin = new PostgresStore(pglitePool(database));
    const observation = resourceOf('Observation', 'a', {
      contained: [{ resourceType: 'Patient', id: 'p', gender: 'male' }],
      subject: { reference: '#p' },
    });
    await putAll(
      origin,
      observation,
      patient(1),
      resourceOf('Condition', 'c', { subject: { reference: 'Patient/p1' } }),
    );
    const before = await rowsIn(database);
    await remakeWithout(database, 'Patient', 'gender');
    await database.exec(`DELETE FROM token WHERE parameter = ${parameterKey('Observation', '#Patient.gender')}`);
    const store = new PostgresStore(pglitePool(database), MANUAL);
    expect(await store.pendingParameters('clinic')).toEqual([
      { type: 'Observation', parameter: '#Patient' },
      { type: 'Patient', parameter: 'gender' },
    ]);
    expect(await store.reindex({ pendingOnly: true })).toBe(2);
    expect(await idsOf(store, queryOf('Observation', OF_MALES))).toEqual(['a']);
    expect(await rowsIn(database)).toEqual(before);
  });
});

describe('two stores with different definitions of a parameter', () => {
  const OTHER = modelWith('Patient', { gender: { type: 'string' } });
  const refused = { code: 'unavailable', message: expect.stringContaining('made with other definitions') as string };

  test('do not both write: the last opened store does', async () => {
    const database = await filled(2);
    const first = new PostgresStore(pglitePool(database), MANUAL);
    expect(await idsOf(first, queryOf('Patient', MALE))).toHaveLength(2);
    const second = new PostgresStore(pglitePool(database), { ...MANUAL, model: OTHER });
    await second.read([keyOf('Patient', 'p1')]);
    await expect(putAll(first, patient(9))).rejects.toMatchObject(refused);
    const third = new PostgresStore(pglitePool(database), MANUAL);
    await third.read([keyOf('Patient', 'p1')]);
    // This store has not noticed the change yet.
    const noMatch = { kind: 'assert-no-match', query: queryOf('Patient', { kind: 'id', ids: ['nobody'] }) } as const;
    await expect(second.commit([noMatch, put(patient(9))])).rejects.toMatchObject(refused);
    await expect(second.search(queryOf('Patient', MALE))).rejects.toMatchObject(refused);
    await expect(second.reindex({ pendingOnly: true })).rejects.toMatchObject(refused);
    expect(await idsOf(second, queryOf('Patient', BORN))).toHaveLength(2);
    await expect(third.search(queryOf('Patient', MALE))).rejects.toMatchObject(PENDING);
    await third.reindex({ pendingOnly: true });
    expect(await idsOf(third, queryOf('Patient', MALE))).toHaveLength(2);
    // It has the same definitions as before, so it can write again.
    await first.commit([put(patient(9)), noMatch]);
    expect(await idsOf(first, queryOf('Patient', MALE))).toHaveLength(3);
    await Promise.all([first.close(), second.close(), third.close()]);
  });

  test('search parameters with equal definitions, and complete parameters', async () => {
    const database = await filled(2);
    const first = new PostgresStore(pglitePool(database), MANUAL);
    await first.read([keyOf('Patient', 'p1')]);
    const second = new PostgresStore(pglitePool(database), { ...MANUAL, model: OTHER });
    await second.reindex({ pendingOnly: true });
    expect(await idsOf(first, queryOf('Patient', BORN))).toHaveLength(2);
    expect(await second.pendingParameters('clinic')).toEqual([]);
    await expect(first.search(queryOf('Observation', OF_MALES))).rejects.toMatchObject(refused);
    await Promise.all([first.close(), second.close()]);
  });
});

describe('the state of the index', () => {
  test('costs a search no round trip and no row, and a commit none', async () => {
    const database = await filled(2);
    const sent: string[] = [];
    const store = new PostgresStore(
      pglitePool({
        query(text, values, options) {
          sent.push(text);
          return database.query(text, values, options);
        },
      }),
    );
    await store.read([keyOf('Patient', 'p1')]);
    const count = async (work: () => Promise<unknown>): Promise<number> => {
      sent.length = 0;
      await work();
      return sent.length;
    };
    expect(await count(() => store.search(queryOf('Patient', MALE)))).toBe(1);
    expect(await count(() => store.search(queryOf('Patient', MALE, { limit: 1, total: true })))).toBe(2);
    expect(await count(() => store.pendingParameters('clinic'))).toBe(0);
    expect(await count(() => putAll(store, patient(7)))).toBe(2);
    for (const call of [
      { kind: 'search', query: queryOf('Patient', MALE, { limit: 1, total: true }) },
      { kind: 'search-by-reference', query: queryOf('Observation'), parameter: 'subject', targets: [] },
    ] as const) {
      for (const { plan } of await store.explain(call)) {
        expect(plan.filter((line) => line.includes('One-Time Filter: (1 = (1 / CASE')).length).toBe(1);
      }
    }
    await store.close();
  });

  test('that a replica does not have yet sends the search to the writer', async () => {
    const database = await filled(2);
    const writer = pglitePool(database);
    let late = 0;
    const readers: PostgresPool = {
      async connect() {
        const client = await writer.connect();
        return {
          query: (statement) => {
            const text = statement.text.replace("m.name = 'index_epoch'", "m.name = 'index_version'");
            if (text !== statement.text) late++;
            return client.query({ ...statement, text });
          },
          release: (broken) => client.release(broken),
        };
      },
    };
    const store = new PostgresStore({ writer, readers });
    expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['p0', 'p1']);
    expect(late).toBe(1);
    await store.close();
  });
});
