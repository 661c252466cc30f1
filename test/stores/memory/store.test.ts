import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MemoryStore } from '../../../src/index.js';
import type { CallOptions, Criteria } from '../../../src/store.js';
import { storeConformance } from '../../../src/testing.js';
import { putAll, queryOf, resourceOf } from '../../support/kit.js';
import { KIT_EFFORT, SEED } from '../../support/chance.js';
import { expectFewResources } from '../most-resources.js';

describe.each([undefined, 'https://clinic.example/fhir'])('with the base URL %s', (baseUrl) => {
  storeConformance({ describe, test }, () => new MemoryStore({ baseUrl }), { seed: SEED, effort: KIT_EFFORT });
});

test('a search by reference that finds more than it may return is refused', () =>
  expectFewResources(new MemoryStore()));

const FEMALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };

describe('a search whose deadline passes', () => {
  const patients = Array.from({ length: 300 }, (_, n) =>
    resourceOf('Patient', `p${n}`, { gender: n % 2 ? 'male' : 'female' }),
  );
  const observations = patients.map(({ id }) =>
    resourceOf('Observation', `o${id}`, { subject: { reference: 'Patient/p1' } }),
  );

  test.each<readonly [string, (store: MemoryStore, options: CallOptions) => Promise<unknown>]>([
    ['while it tests', (store, options) => store.search(queryOf('Patient', FEMALE), options)],
    [
      'while it sorts',
      (store, options) =>
        store.search({ ...queryOf('Patient'), sort: [{ parameter: 'gender', descending: false }] }, options),
    ],
    [
      'while it follows references',
      (store, options) =>
        store.searchByReference(queryOf('Observation'), 'subject', [{ type: 'Patient', id: 'p1' }], options),
    ],
  ])('ends %s', async (_, search) => {
    const store = new MemoryStore();
    await putAll(store, ...patients, ...observations);
    let now = 0;
    const looks = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1));
    onTestFinished(() => void looks.mockRestore());
    await expect(search(store, { deadline: 3 })).rejects.toMatchObject({
      code: 'aborted',
      details: { deadline: true },
    });
    expect(looks.mock.calls.length).toBeLessThan(6);
    await search(store, { deadline: 1e9 });
  });
});
