import Database from 'better-sqlite3';
import { copyFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import type { AnyResource } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria } from '../../../src/store.js';
import {
  createRandom,
  idsOf,
  keyOf,
  PROJECT,
  put,
  putAll,
  queryOf,
  randomResources,
  resourceOf,
} from '../../support/kit.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const DEFAULTS = { ...THREAD_TUNING };
const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
const PATIENTS = Array.from({ length: 24 }, (_, index) => resourceOf('Patient', `p${index}`, { gender: 'male' }));
const IDS = PATIENTS.map(({ id }) => id!).toSorted();

const { turnMs } = PACE;
afterEach(() => {
  Object.assign(THREAD_TUNING, DEFAULTS);
  PACE.turnMs = turnMs;
});

/** The number of indexes in a file that a load goes without, as another process sees it. */
function indexesOf(file: string): number {
  const database = new Database(file, { readonly: true });
  const count = database.prepare("SELECT count(*) FROM sqlite_schema WHERE name GLOB '*_by_[vpesu]*'").pluck().get();
  database.close();
  // `unique_key_by_resource`, `version_by_resource` and the like are no indexes by value.
  return count as number;
}

describe.each([
  ['threads', 2],
  ['no threads', 0],
])('a load with %s', (_, readers) => {
  const open = (name: string): SqliteStore => new SqliteStore(fileNamed(name), { readers });

  test('runs without the indexes by value until the first search', async () => {
    const store = open(`search-${readers}.db`);
    const file = fileNamed(`search-${readers}.db`);
    expect(indexesOf(file)).toBe(9);
    await store.commit(PATIENTS.map((patient) => put(patient)));
    expect(indexesOf(file)).toBe(0);
    await putAll(store, resourceOf('Patient', 'single', { gender: 'female' }));
    await store.commit(PATIENTS.map((patient) => put({ ...patient, id: `${patient.id!}-2` })));
    expect(indexesOf(file)).toBe(0);
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(48);
    expect(indexesOf(file)).toBe(9);
    await store.commit(PATIENTS.map((patient) => put({ ...patient, id: `${patient.id!}-3` })));
    expect(indexesOf(file)).toBe(9);
    expect(await idsOf(store, queryOf('Patient', MALE))).toHaveLength(72);
    await store.close();
  });

  test('ends when its store closes', async () => {
    const file = fileNamed(`close-${readers}.db`);
    const store = open(`close-${readers}.db`);
    await store.commit(PATIENTS.map((patient) => put(patient)));
    await store.close();
    expect(indexesOf(file)).toBe(9);
  });

  test('has its histories and removals before the first search', async () => {
    const file = fileNamed(`history-${readers}.db`);
    const store = open(`history-${readers}.db`);
    await store.commit(PATIENTS.map((patient) => put(patient)));
    expect(indexesOf(file)).toBe(0);
    const entries = await store.typeHistory({ project: PROJECT, type: 'Patient', limit: 100 });
    expect(entries.map(({ id }) => id).toSorted()).toEqual(IDS);
    await store.close();

    const second = open(`removal-${readers}.db`);
    await second.commit(PATIENTS.map((patient) => put(patient)));
    expect(await second.removal.removeProject(PROJECT)).toMatchObject({ resources: 24, done: true });
    expect((await second.verify()).problems).toEqual([]);
    await second.close();
  });

  test('that is interrupted loses nothing: the next search of any process creates the indexes', async () => {
    const store = open(`killed-${readers}.db`);
    await store.commit(PATIENTS.map((patient) => put(patient)));
    // The state that a killed process leaves: the current file and its log.
    for (const end of ['', '-wal']) {
      copyFileSync(`${fileNamed(`killed-${readers}.db`)}${end}`, `${fileNamed(`left-${readers}.db`)}${end}`);
    }
    const survivor = open(`left-${readers}.db`);
    expect((await survivor.verify()).problems).toEqual([]);
    expect(await idsOf(survivor, queryOf('Patient', MALE))).toEqual(IDS);
    expect(indexesOf(fileNamed(`left-${readers}.db`))).toBe(9);
    await Promise.all([store.close(), survivor.close()]);
  });

  test('is seen by stores that searched while the file was empty', async () => {
    const store = open(`seen-${readers}.db`);
    const other = open(`seen-${readers}.db`);
    expect(await idsOf(other, queryOf('Patient', MALE))).toEqual([]);
    await store.commit(PATIENTS.map((patient) => put(patient)));
    expect(await idsOf(other, queryOf('Patient', MALE))).toEqual(IDS);
    await Promise.all([store.close(), other.close()]);
  });

  test('is seen by assertions in a commit, reverse searches and plans', async () => {
    const store = open(`asserted-${readers}.db`);
    await store.commit(PATIENTS.map((patient) => put(patient)));
    const query = queryOf('Patient', MALE);
    const create = put(resourceOf('Patient', 'other'));
    await expect(store.commit([{ kind: 'assert-no-match', query }, create])).rejects.toMatchObject({
      code: 'conflict',
    });
    await store.close();

    const second = open(`reverse-${readers}.db`);
    const subject = { reference: 'Patient/p1' };
    const findings = PATIENTS.map(({ id }) => resourceOf('Observation', id!, { subject }));
    await second.commit(findings.map((finding) => put(finding)));
    const [page] = await second.searchByReference(queryOf('Observation'), 'subject', [{ type: 'Patient', id: 'p1' }]);
    expect(page!.matches.map(({ resource }) => resource.id).toSorted()).toEqual(IDS);
    await second.close();

    const third = open(`plans-${readers}.db`);
    await third.commit(PATIENTS.map((patient) => put(patient)));
    const [statement] = await third.explain({ kind: 'search', query });
    expect(statement!.plan.join('\n')).toContain('token_by_value');
    await third.close();
  });
});

test('a load runs without the indexes by value, even if little of it fits into the first part for the thread', async () => {
  // Each turn of the event loop prepares one write.
  PACE.turnMs = 0;
  const file = fileNamed('slow.db');
  const store = new SqliteStore(file, { readers: 1 });
  await store.commit(PATIENTS.map((patient) => put(patient)));
  expect(indexesOf(file)).toBe(0);
  expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(IDS);
  await store.close();
});

test('a search finds the resources that a load writes between its check of the indexes and its statements', async () => {
  const file = fileNamed('overtaken.db');
  const store = new SqliteStore(file, { readers: 0 });
  await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
  expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['a']);
  // The store knows of the indexes; a load by another process has dropped them since.
  const database = new Database(file);
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE name GLOB '*_by_[vpesu]*'").pluck().all();
  for (const name of names) database.exec(`DROP INDEX ${String(name)}`);
  database.close();
  expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['a']);
  expect(indexesOf(file)).toBe(9);
  await store.close();
});

test('a search waits for the indexes until its deadline, and other searches continue to wait', async () => {
  const file = fileNamed('waiting.db');
  const store = new SqliteStore(file, { readers: 1, busyTimeout: 600_000 });
  await store.commit(PATIENTS.map((patient) => put(patient)));
  const other = new Database(file);
  other.exec('BEGIN IMMEDIATE');
  const waiting = store.search(queryOf('Patient', MALE));
  const brief = store.search(queryOf('Patient', MALE), { deadline: performance.now() + 20 });
  await expect(brief).rejects.toMatchObject({ code: 'aborted' });
  const aborted = store.search(queryOf('Patient', MALE), { signal: AbortSignal.abort() });
  await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
  // Reads need no index by value.
  expect((await store.read([keyOf('Patient', 'p1')]))[0]!.status).toBe('found');
  other.exec('ROLLBACK');
  other.close();
  expect((await waiting).matches).toHaveLength(24);
  await store.close();
});

test.each([
  ['in memory', () => new SqliteStore(':memory:')],
  ['of the host', () => new SqliteStore(new Database(fileNamed('host.db')))],
])('a database %s keeps its indexes', async (_, create) => {
  const store = create();
  await store.commit(PATIENTS.map((patient) => put(patient)));
  const plans = await store.explain({ kind: 'search', query: queryOf('Patient', MALE) });
  expect(plans[0]!.plan.join('\n')).toContain('token_by_value');
  await store.close();
});

test(`random searches after a load equal the reference search (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const store = new SqliteStore(fileNamed('random.db'), { readers: 0 });
  const results = await store.commit(randomResources(random).map((resource) => put(resource)));
  expect(indexesOf(fileNamed('random.db'))).toBe(0);
  const current = new Map<string, AnyResource>();
  for (const result of results) {
    if (result.kind === 'put') current.set(`${result.resource.resourceType}/${result.resource.id!}`, result.resource);
  }
  await assertSearches(store, PROJECT, [...current.values()], random, cases(300, 40));
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
});
