import { expect, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria } from '../../../src/store.js';
import { putAll, queryOf, resourceOf } from '../../support/kit.js';

const PATIENTS = Array.from({ length: 120 }, (_, index) =>
  resourceOf('Patient', `p${index}`, { communication: [{ language: { text: 'English' } }] }),
);
const NOT_SPOKEN: Criteria = { kind: 'match', parameter: 'language', test: { kind: 'text', text: 'deutsch' } };

test('a search that reads whole resources checks its deadline before each of them', async () => {
  const store = new SqliteStore(':memory:');
  await putAll(store, ...PATIENTS);
  let looks = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (looks += 1));
  expect(await store.search(queryOf('Patient', NOT_SPOKEN), { deadline: 1e6 })).toMatchObject({ matches: [] });
  expect(looks).toBeGreaterThanOrEqual(PATIENTS.length);
  looks = 0;
  const late = store.search(queryOf('Patient', NOT_SPOKEN), { deadline: 60 });
  await expect(late).rejects.toMatchObject({ code: 'aborted' });
  expect(looks).toBeLessThan(PATIENTS.length);
  vi.restoreAllMocks();
  await store.close();
});
