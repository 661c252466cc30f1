import { afterAll, beforeAll, expect, test } from 'vitest';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { assertEndsByOtherProcess, ENDS, memberOf, type OtherProcess, startOther } from '../support/other-process.js';

const fileNamed = temporaryFolder();
let store: SqliteStore;
let other: OtherProcess;
beforeAll(() => {
  const file = fileNamed('clinic.db');
  store = new SqliteStore(file, { synchronous: 'off', readers: 0 });
  other = startOther(file);
});
afterAll(async () => {
  await other.end();
  await store.close();
});

test.each(ENDS)('a caller ends when another process says %s: %s', async (change, code) => {
  await assertEndsByOtherProcess(store, other, change, code);
});

test('a write of another process changes the epoch of a SQLite file', async () => {
  const membership = await memberOf(store, 'ann');
  const before = await store.accessEpoch();
  expect(await store.accessEpoch()).toBe(before);
  await other.change('patient', membership);
  expect(await store.accessEpoch()).not.toBe(before);
});
