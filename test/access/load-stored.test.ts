import { expect, test } from 'vitest';
import type { GuardedWrite } from '../../src/access/contract.js';
import { MEMBER_USERS } from '../../src/access/policy/default-rules.js';
import { settledCriteria, loadStored } from '../../src/access/write/commit-state.js';
import { ALL, and, NONE } from '../../src/search/criteria/criteria.js';
import { MemoryStore } from '../../src/index.js';
import type { ResourceKey } from '../../src/store.js';
import { signedIn, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';
import { caller, expectDecided, decided, FEMALE, put, stateOf } from './decisions.js';

const assertion = (type: string): GuardedWrite => ({ kind: 'assert-no-match', query: { type, criteria: ALL } });
const patient = put({ resourceType: 'Patient', id: 'p' });
const USERS = { kind: 'id', ids: ['u', 'v'] } as const;

test('the stored resources of the writes are read, and none for assertions', async () => {
  const asked: (readonly ResourceKey[])[] = [];
  const inner = new MemoryStore();
  const store = storeWith(inner, { read: (keys) => (asked.push(keys), inner.read(keys)) });
  await loadStored(store, caller({ Patient: [ALL] }), [assertion('Patient'), patient, assertion('User')], undefined);
  expect(asked).toEqual([[{ project: 'clinic', type: 'Patient', id: 'p' }]]);
});

test('the Users of the members are looked up if one of the types depends on them', async () => {
  const store = new MemoryStore();
  await system(store);
  const administrator = await signedIn(store, { admin: true });
  const user = administrator.user.replace('User/', '');
  const usersFor = async (...writes: readonly GuardedWrite[]): Promise<unknown> =>
    (await loadStored(store, administrator, writes, undefined)).memberUsers;
  expect(await usersFor(patient, assertion('User'))).toEqual({ kind: 'id', ids: [user] });
  expect(await usersFor(patient)).toBeUndefined();
});

test('the Users of the members replace their placeholder in criteria', () => {
  const who = caller({ User: [MEMBER_USERS] });
  const state = stateOf(who);
  const loaded = { ...state, stored: { ...state.stored, memberUsers: USERS } };
  expect(settledCriteria(loaded, and([FEMALE, MEMBER_USERS]))).toEqual(and([FEMALE, USERS]));
  expect(settledCriteria(state, FEMALE)).toBe(FEMALE);
  const [own] = expectDecided(decided(loaded, assertion('User')).decision).ready;
  expect(own).toMatchObject({ write: { query: { project: '', type: 'User', criteria: USERS } } });
  const [none] = expectDecided(decided(loaded, assertion('Patient')).decision).ready;
  expect(none).toMatchObject({ write: { query: { criteria: NONE } } });
});
