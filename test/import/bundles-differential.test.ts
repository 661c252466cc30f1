import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import {
  FhirError,
  importBundle,
  importBundles,
  type ImportResult,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { GUESS_TUNING } from '../../src/import/session.js';
import { THREAD_TUNING } from '../../src/stores/sqlite/database/tuning.js';
import { cases, IS_WHOLE, SEED } from '../support/chance.js';
import { emptySqliteFile } from '../support/empty-sqlite-file.js';
import { ask, batch, type Json, post, PROJECT, put, transaction } from './harness.js';

// Many Bundles in one call compared with one call each: equal results, and equal histories of every resource.

const TUNING = { ...THREAD_TUNING };
const GUESS = { ...GUESS_TUNING };
const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-bundles-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  GUESS_TUNING.newInARow = 2;
});
afterEach(() => {
  Object.assign(THREAD_TUNING, TUNING);
  Object.assign(GUESS_TUNING, GUESS);
});

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const id = fc.constantFrom(...IDS);
const family = fc.constantFrom('x', 'y', 'z');
const patient = (of: string, name: string): Json => ({ resourceType: 'Patient', id: of, name: [{ family: name }] });
const observation = (of: string, reference: string): Json => ({
  resourceType: 'Observation',
  id: of,
  status: 'final',
  code: { text: 'x' },
  subject: { reference },
});
const subject = fc.oneof(
  { weight: 6, arbitrary: id.map((of) => `Patient/${of}`) },
  { weight: 2, arbitrary: id.map((of) => `urn:uuid:${of}`) },
  { weight: 1, arbitrary: family.map((name) => `Patient?family=${name}`) },
);

const ENTRY: fc.Arbitrary<Json> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(id, family).map(([of, name]) => put(patient(of, name))) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(id, subject)
      .map(([of, reference]) => post(observation(of, reference), { fullUrl: `urn:uuid:o-${of}` })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, family).map(([of, name]) => post(patient(of, name), { fullUrl: `urn:uuid:${of}` })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(id, family).map(([of, name]) => post(patient(of, name), { ifNoneExist: `family=${name}` })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(id, family).map(([of, name]) => put(patient(of, name), { url: `Patient?family=${name}` })),
  },
  { weight: 1, arbitrary: fc.tuple(id, family).map(([of, name]) => put(patient(of, name), { ifMatch: 'W/"1"' })) },
  { weight: 2, arbitrary: id.map((of) => ask('DELETE', `Observation/${of}`)) },
  { weight: 1, arbitrary: id.map((of) => ask('DELETE', `Patient/${of}`)) },
  { weight: 1, arbitrary: family.map((name) => ask('DELETE', `Patient?family=${name}`)) },
  { weight: 1, arbitrary: id.map((of) => ask('GET', `Patient/${of}`)) },
  { weight: 1, arbitrary: family.map((name) => ask('GET', `Patient?family=${name}`)) },
  { weight: 1, arbitrary: fc.constant(put({ resourceType: 'Patient', id: 'not good' }, { url: 'Patient/a' })) },
  { weight: 1, arbitrary: fc.constant(put({ resourceType: 'Patient', id: 'g', meta: { constructor: {} } })) },
);

const BUNDLES = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 9 }), fc.array(ENTRY, { maxLength: 4 }))
    .map(([kind, entries]) => (kind < 8 ? transaction(...entries) : batch(...entries))),
  { minLength: 2, maxLength: 8 },
);

type Told = ReturnType<typeof told>;

function told(result: ImportResult | FhirError): object {
  const text = JSON.stringify(
    result instanceof FhirError
      ? { code: result.code, message: result.message, issues: result.issues, details: result.details }
      : result,
  );
  return JSON.parse(text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then')) as object;
}

async function oneByOne(bundles: readonly object[], store: ResourceStore): Promise<readonly Told[]> {
  const results: Told[] = [];
  for (const bundle of bundles) {
    const result = await importBundle(bundle, { store, caller: systemCaller(PROJECT) }).catch(
      (error: FhirError) => error,
    );
    results.push(told(result));
  }
  return results;
}

async function together(bundles: readonly object[], store: ResourceStore): Promise<readonly Told[]> {
  const results: Told[] = [];
  const done = await importBundles(bundles, {
    store,
    caller: systemCaller(PROJECT),
    onResult: (result, position) => {
      expect(position).toBe(results.length);
      results.push(told(result));
    },
  });
  expect(done.bundles).toBe(bundles.length);
  expect(done.refused).toBe(results.filter((result) => 'code' in result).length);
  expect(done.errors.length).toBe(done.refused);
  return results;
}

async function histories(store: ResourceStore): Promise<object> {
  const found: { [key: string]: unknown } = {};
  for (const type of ['Patient', 'Observation']) {
    for (const one of [...IDS, 'g']) {
      const page = await store.history({ project: PROJECT, type, id: one }, { offset: 0, limit: 100 });
      found[`${type}/${one}`] = JSON.parse(
        JSON.stringify(page).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then'),
      ) as unknown;
    }
  }
  return found;
}

/** Lets calls take some turns of the event loop, before and after their work. */
function delayed(store: ResourceStore, seed: number): ResourceStore {
  let state = seed;
  const turns = async (): Promise<void> => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    for (let left = (state >>> 16) % 12; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
  };
  const slowly = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await turns();
    try {
      return await work();
    } finally {
      await turns();
    }
  };
  return {
    model: store.model,
    read: (...call) => slowly(() => store.read(...call)),
    search: (...call) => slowly(() => store.search(...call)),
    searchByReference: (...call) => slowly(() => store.searchByReference(...call)),
    commit: (...call) => slowly(() => store.commit(...call)),
    history: (...call) => slowly(() => store.history(...call)),
    close: () => store.close(),
  };
}

test('many Bundles in one call leave the same state as one call each, in any order of the store', async () => {
  await fc.assert(
    fc.asyncProperty(BUNDLES, fc.nat(), async (bundles, seed) => {
      const [one, other] = [new MemoryStore(), new MemoryStore()];
      const expected = await oneByOne(bundles, one);
      expect(await together(bundles, delayed(other, seed))).toEqual(expected);
      expect(await histories(other)).toEqual(await histories(one));
    }),
    { seed: SEED, numRuns: cases(600, 150) },
  );
});

test.runIf(IS_WHOLE)('the same applies over a file, with commits in threads and in the event loop', async () => {
  THREAD_TUNING.largeCommit = 2;
  THREAD_TUNING.slice = 1;
  let files = 0;
  await fc.assert(
    fc.asyncProperty(BUNDLES, async (bundles) => {
      const [one, other] = [0, 1].map(() => new SqliteStore(emptySqliteFile(join(folder, `${files++}.db`)))) as [
        SqliteStore,
        SqliteStore,
      ];
      const expected = await oneByOne(bundles, one);
      expect(await together(bundles, other)).toEqual(expected);
      expect(await histories(other)).toEqual(await histories(one));
      expect((await other.verify()).problems).toEqual([]);
      await Promise.all([one.close(), other.close()]);
    }),
    { seed: SEED, numRuns: cases(40, 5) },
  );
});
