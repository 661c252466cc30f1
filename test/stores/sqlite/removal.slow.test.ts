import { existsSync, readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import type { AnyResource, ResourceStore } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, EraseWrite } from '../../../src/store.js';
import { createRandom, keyOf, PROJECT, put, queryOf, randomResources, resourceOf } from '../../support/kit.js';
import { ALL } from '../../../src/search/criteria/criteria.js';
import { Contents } from '../../../src/stores/sqlite/rows/contents.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';
import { LOOKOUT_TUNING } from '../../../src/stores/sqlite/lookout.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { SEED } from '../../support/chance.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const { turnMs } = PACE;
const TUNING = { ...THREAD_TUNING };
const open: SqliteStore[] = [];
let files = 0;

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  Object.assign(THREAD_TUNING, TUNING);
  PACE.turnMs = turnMs;
  await Promise.all(open.splice(0).map((store) => store.close()));
});

function openStore(file: string): SqliteStore {
  const store = new SqliteStore(file, { readers: 1, synchronous: 'off' });
  open.push(store);
  return store;
}

function newFile(): string {
  return fileNamed(`${(files += 1)}.db`);
}

function erase(type: string, id: string): EraseWrite {
  return { kind: 'erase', key: keyOf(type, id), reason: 'test-data' };
}

/** Every kind of index value, each with a unique word. */
function secretPatient(version: number): AnyResource {
  return resourceOf('Patient', 'erased', {
    name: [{ family: `Xylophon${version}`, given: ['Quetzalcoatl'] }],
    identifier: [{ system: `urn:oid:9.8.7.6.${version}`, value: `MRN-zebra-${version}` }],
    gender: 'other',
    birthDate: '1907-07-07',
    managingOrganization: { reference: 'Organization/okapi-clinic' },
    generalPractitioner: [{ reference: 'https://elsewhere.example/Practitioner/wombat' }],
    text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${'Pangolin '.repeat(2_000)}</div>` },
  });
}

const WORDS = /xylophon|quetzalcoatl|9\.8\.7\.6|mrn-zebra|okapi-clinic|wombat|pangolin/i;

function bytesOf(file: string): string {
  return ['', '-wal', '-shm', '-journal']
    .map((end) => (existsSync(`${file}${end}`) ? readFileSync(`${file}${end}`, 'latin1') : ''))
    .join('');
}

async function fill(store: ResourceStore): Promise<void> {
  const others = randomResources(createRandom(SEED)).map((resource) => put(resource));
  await store.commit(others.slice(0, 30));
  for (let version = 1; version <= 3; version++) await store.commit([put(secretPatient(version))]);
  await store.commit(others.slice(30));
}

const byFamily = (text: string): Criteria => ({
  kind: 'match',
  parameter: 'family',
  test: { kind: 'string', comparator: 'starts-with', text },
});

test.each([
  ['in the event loop', 1e9],
  ['in threads', -1],
])('no byte of an erased resource is in the file, its log or its index after scrubbing %s', async (_, inlineMs) => {
  Object.assign(THREAD_TUNING, { inlineMs, smallFile: inlineMs < 0 ? 0 : 1e9 });
  const file = newFile();
  const store = openStore(file);
  await fill(store);
  expect(bytesOf(file)).toMatch(WORDS);
  // Other versions of rows, some of which SQLite moves to other pages.
  await store.commit([put(secretPatient(4))]);
  await store.commit([erase('Patient', 'erased')]);
  await store.removal.scrub();
  expect(bytesOf(file)).not.toMatch(WORDS);
  expect(bytesOf(file)).toContain('test-data');
  expect((await store.verify()).problems).toEqual([]);
});

test('no byte of a removed project is left, and no name of it except its id', async () => {
  const file = newFile();
  const store = openStore(file);
  await fill(store);
  const kept = put(resourceOf('Patient', 'kept', { name: [{ family: 'Kept' }] }), {}, 'elsewhere');
  await store.commit([kept]);
  while (!(await store.removal.removeProject(PROJECT)).done);
  await store.removal.scrub();
  expect(bytesOf(file)).not.toMatch(WORDS);
  expect(bytesOf(file)).not.toContain('Patient/erased');
  expect((await store.verify()).problems).toEqual([]);
  const { matches } = await store.search({ ...queryOf('Patient', byFamily('kept')), project: 'elsewhere' });
  expect(matches).toHaveLength(1);
});

test('samples that SQLite keeps for its planner are overwritten too', async () => {
  const file = newFile();
  const store = openStore(file);
  await fill(store);
  const host = new Database(file);
  host.exec('ANALYZE');
  host.close();
  await store.commit([erase('Patient', 'erased')]);
  await store.removal.scrub();
  expect(bytesOf(file)).not.toMatch(WORDS);
});

test('the table of a preview that has values of resources is dropped', async () => {
  const file = newFile();
  const store = openStore(file);
  await fill(store);
  const host = new Database(file);
  host.exec(`
    CREATE TABLE zone (
      parameter INTEGER NOT NULL, block INTEGER NOT NULL, low NOT NULL, last NOT NULL, high NOT NULL,
      PRIMARY KEY (parameter, block)) WITHOUT ROWID;
    CREATE INDEX zone_by_block ON zone (block);
    INSERT INTO zone VALUES (1, 0, 'Xanthippe-zone', 'Xanthippe-zone', 'Xanthippe-zone')`);
  expect(bytesOf(file)).toContain('Xanthippe-zone');
  await store.removal.scrub();
  expect(bytesOf(file)).not.toContain('Xanthippe-zone');
  expect(host.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'zone%'").all()).toEqual([]);
  host.close();
});

test('scrubbing waits for a connection that reads an old state, and reports it at the end', async () => {
  const file = newFile();
  const store = new SqliteStore(file, { readers: 1, busyTimeout: 50 });
  open.push(store);
  await fill(store);
  const host = new Database(file);
  host.exec('BEGIN');
  host.prepare('SELECT count(*) FROM resource').get();
  await store.commit([erase('Patient', 'erased')]);
  await expect(store.removal.scrub()).rejects.toMatchObject({ name: 'FhirError', code: 'unavailable' });
  host.exec('COMMIT');
  host.close();
  await store.removal.scrub();
  expect(bytesOf(file)).not.toMatch(WORDS);
});

test('another connection answers from names that were removed and created again', async () => {
  const file = newFile();
  const [one, other] = [openStore(file), openStore(file)];
  const observation = put(resourceOf('Observation', 'a', { subject: { reference: 'Patient/target' } }));
  const patient = put(resourceOf('Patient', 'a', { identifier: [{ system: 'urn:s', value: '1' }] }));
  const coded: Criteria = {
    kind: 'match',
    parameter: 'identifier',
    test: { kind: 'token', system: 'urn:s', code: '1' },
  };
  const target = [{ type: 'Patient', id: 'target' }];
  const ask = async (): Promise<unknown> => {
    const [page] = await other.searchByReference(queryOf('Observation'), 'subject', target);
    const { matches } = await other.search(queryOf('Patient', coded));
    const history = await other.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 });
    return [page!.matches.length, matches.length, history.total];
  };
  await one.commit([patient, observation]);
  expect(await ask()).toEqual([1, 1, 1]);
  while (!(await one.removal.removeProject(PROJECT)).done);
  await one.removal.scrub();
  // Takes the numbers that the names had.
  await one.commit([put(resourceOf('Practitioner', 'p', { identifier: [{ system: 'urn:t', value: '1' }] }), {}, 'b')]);
  expect(await ask()).toEqual([0, 0, 0]);
  await one.commit([observation, patient]);
  expect(await ask()).toEqual([1, 1, 1]);
  await other.commit([put(resourceOf('Observation', 'b', { subject: { reference: 'Patient/target' } }))]);
  expect(await ask()).toEqual([2, 1, 1]);
  expect((await one.verify()).problems).toEqual([]);
});

test('a version never has the key of a removed version', async () => {
  const file = newFile();
  const [one, other] = [openStore(file), openStore(file)];
  await one.commit([put(resourceOf('Patient', 'a', { gender: 'male' }))]);
  // From the second read on the other connection has the parsed resource.
  for (let read = 0; read < 3; read++) await other.read([keyOf('Patient', 'a')]);
  while (!(await one.removal.removeProject(PROJECT)).done);
  await one.commit([put(resourceOf('Patient', 'a', { gender: 'female' }))]);
  const [found] = await other.read([keyOf('Patient', 'a')]);
  expect(found).toMatchObject({ status: 'found', resource: { gender: 'female' } });
});

test('an idle connection drops resources that another connection erased', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const file = newFile();
  const [one, other] = [openStore(file), openStore(file)];
  await one.commit([put(secretPatient(1))]);
  for (let read = 0; read < 3; read++) await other.read([keyOf('Patient', 'erased')]);
  await one.commit([erase('Patient', 'erased')]);
  const held: number[] = [];
  vi.spyOn(Contents.prototype, 'forget').mockImplementation(function (this: Contents) {
    held.push(this.cachedBytes);
  });
  vi.advanceTimersByTime(LOOKOUT_TUNING.removalMs - 1);
  expect(held).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(held).toEqual([expect.toSatisfy((bytes: number) => bytes > 18_000)]);
});

test('a read that overlaps the erasure of its resource is answered as of afterwards', async () => {
  THREAD_TUNING.slice = 1;
  PACE.turnMs = 0;
  const file = newFile();
  const [one, other] = [openStore(file), openStore(file)];
  const ids = ['a', 'b', 'c', 'd'];
  await one.commit(ids.map((id) => put(resourceOf('Patient', id))));
  const reading = other.read(ids.map((id) => keyOf('Patient', id)));
  const searching = other.search(queryOf('Patient', ALL, { total: true }));
  const listing = other.typeHistory({ project: PROJECT, type: 'Patient', limit: 10 });
  await one.commit([erase('Patient', 'd')]);
  const states = (await reading).map(({ status }) => status);
  expect(['found found found found', 'found found found gone']).toContain(states.join(' '));
  const { matches, total } = await searching;
  expect(matches).toHaveLength(total!);
  const versions = (await listing).map(({ kind, id, versionId }) => `${kind} ${id} ${versionId}`);
  const others = ['put c 1', 'put b 1', 'put a 1'];
  expect([['put d 1', ...others].join(), ['delete d 2', ...others].join()]).toContain(versions.join());
});

test('purging and removing run in steps of bounded size, for any size of a resource or project', async () => {
  const store = openStore(newFile());
  const versions = Array.from({ length: 2_500 }, (_, version) =>
    put(resourceOf('Patient', 'a', { multipleBirthInteger: version })),
  );
  await store.commit(versions);
  await store.commit(Array.from({ length: 700 }, (_, id) => put(resourceOf('Patient', `p${id}`))));
  let [steps, after, purged] = [0, undefined as string | undefined, 0];
  do {
    const step = await store.removal.purgeHistory({
      project: PROJECT,
      replacedBefore: '9999-01-01T00:00:00Z',
      keep: 1,
      after,
    });
    expect(step.versions).toBeLessThanOrEqual(1_000);
    [steps, after, purged] = [steps + 1, step.next, purged + step.versions];
  } while (after !== undefined);
  expect([steps, purged]).toEqual([4, 2_499]);
  expect((await store.verify()).problems).toEqual([]);
  const first = await store.removal.removeProject(PROJECT);
  expect([first.resources, first.done]).toEqual([500, false]);
  // Half a project is a consistent project.
  expect((await store.verify()).problems).toEqual([]);
  expect((await store.search(queryOf('Patient', ALL, { total: true, limit: 0 }))).total).toBe(201);
  const second = await store.removal.removeProject(PROJECT);
  expect([second.resources, second.done]).toEqual([201, true]);
  expect((await store.verify()).problems).toEqual([]);
});

test('data derived from values drop those of purged versions: segments', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 50 });
  const file = newFile();
  const store = openStore(file);
  const born = (id: string, birthDate: string, family: string): AnyResource =>
    resourceOf('Patient', id, { birthDate, name: [{ family }] });
  await store.commit([put(born('a', '1901-02-03', 'Zyzzyvason')), put(born('b', '1970-01-01', 'Hill'))]);
  await store.reindex({ pendingOnly: true });
  expect(bytesOf(file)).toMatch(/zyzzyvason/);
  await store.commit([put(born('a', '1980-02-03', 'Dale'))]);
  const step = await store.removal.purgeHistory({
    ...{ project: PROJECT, replacedBefore: new Date(Date.now() + 1000).toISOString(), keep: 1 },
  });
  expect(step).toEqual({ versions: 1 });
  await store.removal.scrub();
  expect(bytesOf(file)).not.toMatch(/zyzzyvason/i);
  expect((await store.verify()).problems).toEqual([]);
  const found = await store.search(
    queryOf('Patient', ALL, { sort: [{ parameter: 'birthdate', descending: false }], limit: 5 }),
  );
  expect(found.matches.map(({ resource }) => resource.id)).toEqual(['b', 'a']);
});
