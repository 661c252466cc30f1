import { afterAll, beforeAll, expect, test } from 'vitest';
import { signIn } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
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

test.each(ENDS)('a caller ends when another process makes the change %s: %s', async (change, code) => {
  await assertEndsByOtherProcess(store, other, change, code);
});

test.each(ENDS)('a kept sign-in ends when another process makes the change %s: %s', async (change, code) => {
  const membership = await memberOf(store, `kept-${change}`);
  // The other process revokes by the system's clock.
  const issuedAt = new Date('2001-01-01T00:00:00.000Z');
  const first = await signIn(store, { membership }, { issuedAt });
  const kept = await signIn(store, { membership }, { issuedAt });
  expect(kept.rules.rulesFor('Patient')).toBe(first.rules.rulesFor('Patient'));
  await other.change(change, membership);
  const after = signIn(store, { membership }, { issuedAt });
  if (change !== 'policy') return expect(after).rejects.toMatchObject({ code });
  expect((await after).rules.rulesFor('Patient')).not.toBe(first.rules.rulesFor('Patient'));
});

test('the epoch of a SQLite file counts changes of access by another process, and nothing else', async () => {
  const membership = await memberOf(store, 'ann');
  const before = await store.accessEpoch();
  await other.change('patient', membership);
  expect(await store.accessEpoch()).toBe(before);
  await other.change('deactivate', membership);
  expect(await store.accessEpoch()).not.toBe(before);
});
