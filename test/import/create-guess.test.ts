import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importBundle, importNdjson, MemoryStore, type ResourceStore, systemCaller } from '../../src/index.js';
import { below, createRandom } from '../support/kit.js';
import { GUESS_TUNING } from '../../src/import/session.js';
import { cases, SEED } from '../support/chance.js';
import { storeWith } from '../support/store-with.js';
import { ask, type Json, PROJECT, put, transaction } from './harness.js';

const caller = systemCaller(PROJECT);
const DEFAULTS = { ...GUESS_TUNING };

beforeAll(() => void Object.assign(GUESS_TUNING, { newInARow: 3 }));
afterAll(() => void Object.assign(GUESS_TUNING, DEFAULTS));

const patient = (id: string, more: Json = {}): Json => ({ resourceType: 'Patient', id, ...more });

/** Passes calls to a store, and counts the reads of Patients and the commits. */
function counting(store: ResourceStore): { readonly store: ResourceStore; reads: number; commits: number } {
  const counts = {
    reads: 0,
    commits: 0,
    store: storeWith(store, {
      read: (...[keys, options]: Parameters<ResourceStore['read']>) => {
        if (keys.some(({ type }) => type === 'Patient')) counts.reads += 1;
        return store.read(keys, options);
      },
      commit: (...[writes, options]: Parameters<ResourceStore['commit']>) => {
        counts.commits += 1;
        return store.commit(writes, options);
      },
    }),
  };
  return counts;
}

async function versionOf(store: ResourceStore, id: string): Promise<string | undefined> {
  const [found] = await store.read([{ project: PROJECT, type: 'Patient', id }]);
  return found!.status === 'found' ? found!.versionId : undefined;
}

describe('after three new resources of a type', () => {
  test('a Bundle of new resources is written without reading', async () => {
    const counts = counting(new MemoryStore());
    for (let index = 0; index < 6; index++) {
      const result = await importBundle(transaction(put(patient(`p${index}`))), { store: counts.store, caller });
      expect(result.created).toBe(1);
    }
    expect(counts).toMatchObject({ reads: 3, commits: 6 });
  });

  test('lines are written without reading', async () => {
    const counts = counting(new MemoryStore());
    const lines = Array.from({ length: 6 }, (_, index) => `${JSON.stringify(patient(`p${index}`))}\n`).join('');
    const result = await importNdjson(lines, { store: counts.store, caller, batchLines: 1 });
    expect(result).toMatchObject({ created: 6, updated: 0, unchanged: 0, errors: [] });
    expect(counts.commits).toBe(6);
    // Two batches are under way at a time.
    expect(counts.reads).toBeLessThanOrEqual(4);
  });

  test('a stored resource is kept or updated, at the cost of one failed commit', async () => {
    const counts = counting(new MemoryStore());
    const context = { store: counts.store, caller };
    for (const id of ['a', 'b', 'c']) await importBundle(transaction(put(patient(id))), context);
    const mixed = transaction(put(patient('new')), put(patient('a')), put(patient('b', { active: true })));
    expect(await importBundle(mixed, context)).toMatchObject({ created: 1, updated: 1, unchanged: 1 });
    expect(counts).toMatchObject({ reads: 4, commits: 5 });
    expect(await Promise.all(['a', 'b', 'new'].map((id) => versionOf(counts.store, id)))).toEqual(['1', '2', '1']);
    expect(await importBundle(mixed, context)).toMatchObject({ created: 0, updated: 0, unchanged: 3 });
    expect(counts).toMatchObject({ commits: 5 });
  });

  test('resources of another type are read', async () => {
    const counts = counting(new MemoryStore());
    const context = { store: counts.store, caller };
    for (const id of ['a', 'b', 'c']) await importBundle(transaction(put(patient(id))), context);
    const shared = { resourceType: 'Organization', id: 'o', name: 'Clinic' };
    for (const id of ['d', 'e', 'f']) {
      const { created, unchanged } = await importBundle(transaction(put(patient(id)), put(shared)), context);
      expect([created, unchanged]).toEqual(id === 'd' ? [2, 0] : [1, 1]);
    }
    expect(counts).toMatchObject({ reads: 3, commits: 6 });
  });

  test('a type with a wrong guess is read for longer', async () => {
    const counts = counting(new MemoryStore());
    const context = { store: counts.store, caller };
    for (const id of ['a', 'b', 'c', 'a']) await importBundle(transaction(put(patient(id))), context);
    expect(counts).toMatchObject({ reads: 4, commits: 4 });
    for (let index = 0; index < 60; index++) await importBundle(transaction(put(patient(`p${index}`))), context);
    // The guess and the reading period after it were both wrong: 3 times 4 times 4.
    expect(counts).toMatchObject({ reads: 52, commits: 64 });
  });

  test('a deleted resource is created again', async () => {
    const context = { store: new MemoryStore(), caller };
    await importBundle(transaction(put(patient('a'))), context);
    await importBundle(transaction(ask('DELETE', 'Patient/a')), context);
    for (const id of ['b', 'c', 'd']) await importBundle(transaction(put(patient(id))), context);
    expect(await importBundle(transaction(put(patient('a'))), context)).toMatchObject({ created: 1 });
    expect(await versionOf(context.store, 'a')).toBe('3');
  });

  test('a faulty line is reported, and the other lines of its batch are written', async () => {
    const store = new MemoryStore();
    const email = 'a@example.org';
    const lines = [
      ...Array.from({ length: 8 }, (_, index) => patient(`p${index}`)),
      patient('p9'),
      { resourceType: 'User', id: 'u', email: 7 },
      patient('p9', { active: true }),
      { resourceType: 'Basic', id: 'b', extension: [{ url: email, valueString: '1' }] },
    ].map((line) => `${JSON.stringify(line)}\n`);
    const result = await importNdjson(lines.join(''), { store, caller, batchLines: 2 });
    expect(result).toMatchObject({ created: 10, updated: 1, failed: 1, errors: [{ line: 10 }] });
    expect(await versionOf(store, 'p9')).toBe('2');
  });
});

test(`imports give the same result with and without a guess (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let round = 0; round < cases(40, 8); round++) {
    const [guessing, plain] = [new MemoryStore(), new MemoryStore()];
    let next = 0;
    for (let step = 0; step < 12; step++) {
      const known = below(3, random) === 0;
      const resources = new Map<string, Json>();
      for (let left = 1 + below(4, random); left > 0; left--) {
        const id = known && below(2, random) === 0 ? `p${below(next + 1, random)}` : `p${(next += 1)}`;
        resources.set(id, patient(id, { active: below(2, random) === 0 }));
      }
      const asLines = below(2, random) === 0;
      const entries = [...resources.values()].map((resource) =>
        !asLines && below(8, random) === 0 ? ask('DELETE', `Patient/${String(resource['id'])}`) : put(resource),
      );
      const run = async (store: ResourceStore): Promise<object> => {
        if (!asLines) {
          const { bundle: _, ...counts } = await importBundle(transaction(...entries), { store, caller });
          return counts;
        }
        const lines = [...resources.values()].map((resource) => JSON.stringify(resource)).join('\n');
        return importNdjson(lines, { store, caller, batchLines: 1 + (step % 3) });
      };
      // A store that was not seen before has no guess.
      expect(await run(guessing)).toEqual(await run(counting(plain).store));
    }
    const ids = Array.from({ length: next + 1 }, (_, index) => `p${index}`);
    const versions = (store: ResourceStore) => Promise.all(ids.map((id) => versionOf(store, id)));
    expect(await versions(guessing)).toEqual(await versions(plain));
  }
});
