import { randomUUID } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { SearchQuery } from '../../../src/store.js';
import { PROJECT } from '../../support/kit.js';
import { Guard } from '../../../src/stores/sqlite/database/guard.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { temporaryFolder } from '../temporary-folder.js';

const DEFAULTS = { ...THREAD_TUNING };
const fileNamed = temporaryFolder();
const SEARCH: SearchQuery = { project: PROJECT, type: 'Patient', criteria: { kind: 'all' } };
let store: SqliteStore | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  Object.assign(THREAD_TUNING, DEFAULTS);
  await store?.close();
});

/** The time that each search can hold the event loop, in milliseconds. @param takes the apparent duration of each */
async function budgetsOf(searches: number, takes: number): Promise<number[]> {
  const budgets: number[] = [];
  let passed = 0;
  const start = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => start + passed);
  const { briefly } = Guard.prototype;
  const spy = vi.spyOn(Guard.prototype, 'briefly').mockImplementation(function (this: Guard, milliseconds, work) {
    budgets.push(milliseconds);
    const result = briefly.call(this, 1e9, work);
    passed += takes;
    return result;
  });
  for (let search = 0; search < searches; search++) await store!.search(SEARCH);
  clock.mockRestore();
  spy.mockRestore();
  return budgets;
}

test('while no reader exists, a read can take longer in the event loop', async () => {
  store = new SqliteStore(fileNamed(`${randomUUID()}.db`), { readers: 1 });
  THREAD_TUNING.inlineMs = 1_000;
  expect(await budgetsOf(4, 1)).toEqual([1_750, 1_750, 1_750, 1_750]);
});

test('once a reader exists, no read takes longer than usual', async () => {
  store = new SqliteStore(fileNamed(`${randomUUID()}.db`), { readers: 1 });
  Object.assign(THREAD_TUNING, { inlineMs: 1_000, smallFile: 0 });
  await store.verify();
  expect(await budgetsOf(2, 1)).toEqual([1_000, 1_000]);
});
