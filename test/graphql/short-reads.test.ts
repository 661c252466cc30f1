import { afterAll, beforeAll, expect, test } from 'vitest';
import { executeFhirGraphql, type ResourceStore, systemCaller } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { put } from '../support/kit.js';
import { neverPause } from '../support/never-pause.js';
import { executeBy, ManualClock } from './manual-clock.js';

const PROJECT = 'clinic';
const caller = systemCaller(PROJECT);
const QUERY = '{ Patient(id: "p1") { id } }';
const ANSWER = { Patient: { id: 'p1' } };
let store: SqliteStore;

neverPause();

beforeAll(async () => {
  store = new SqliteStore(':memory:');
  const key = { project: PROJECT, type: 'Patient', id: 'p1' };
  await store.commit([{ ...put({ resourceType: 'Patient', id: 'p1' }), key }]);
});

afterAll(() => store.close());

const ask = (over: ResourceStore) => executeFhirGraphql(QUERY, { store: over, caller });

test('an asynchronous answer of a store is awaited', async () => {
  const later = wrapped(async (...call) => {
    await new Promise((resolve) => setTimeout(resolve));
    return store.read(...call);
  });
  expect(await ask(later)).toEqual({ data: ANSWER });
});

test('a wrapper of a store is called for every read, and its answer is used', async () => {
  let reads = 0;
  const counting = wrapped((...call) => {
    reads += 1;
    return store.read(...call);
  });
  const hiding = wrapped((...call) =>
    store.read(...call).then((results) => results.map(() => ({ status: 'missing' as const }))),
  );
  expect(await ask(counting)).toEqual({ data: ANSWER });
  expect(reads).toBe(1);
  expect(await ask(hiding)).toMatchObject({ data: { Patient: null }, errors: [{ path: ['Patient'] }] });
});

test('errors of a synchronous store are errors of the field', async () => {
  const failing = wrapped(() => {
    throw new Error('broken');
  });
  expect(await ask(failing)).toMatchObject({
    data: { Patient: null },
    errors: [{ extensions: { code: 'internal' }, path: ['Patient'] }],
  });
});

test('a read that exceeds the time limit is a timeout, even if no timer could fire', async () => {
  const clock = new ManualClock();
  const slow = wrapped((...call) => {
    clock.pass(2_000);
    return store.read(...call);
  });
  const answer = executeBy(clock, QUERY, { store: slow, caller, limits: { timeout: 1_000 } });
  await expect(answer).rejects.toMatchObject({ code: 'too-costly', details: { limit: 'timeout' } });
});

/** The store with another `read`. */
function wrapped(read: ResourceStore['read']): ResourceStore {
  return new Proxy<ResourceStore>(store, {
    get(target, name) {
      if (name === 'read') return read;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
