import { expect, test } from 'vitest';
import { type Caller, MemoryStore, type ResourceStore, systemCaller } from '../../src/index.js';
import type { CallOptions, Criteria, TypeHistoryEntry } from '../../src/store.js';
import { put, resourceOf } from '../support/kit.js';
import type { GuardedTypeHistory } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { faultOf, signedIn, system, type Membership } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

const START = Date.parse('2030-01-01T00:00:00.000Z');
const FEMALE = [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }];

/** A store that writes one version per second, and its recorded calls. */
async function open(membership?: Membership) {
  const time = { now: START - 1_000_000 };
  const store = new MemoryStore({ clock: () => new Date((time.now += 1000)) });
  await system(store);
  const member = await signedIn(store, membership);
  time.now = START;
  const calls: string[] = [];
  const given: (CallOptions | undefined)[] = [];
  const criteria: Criteria[] = [];
  const counted = storeWith(store, {
    read(keys, options) {
      calls.push(`read ${keys.length}`);
      given.push(options);
      return store.read(keys, options);
    },
    search(query, options) {
      calls.push(`search ${query.limit}`);
      criteria.push(query.criteria);
      given.push(options);
      return store.search(query, options);
    },
    typeHistory(query, options) {
      const since = query.since === undefined ? '' : ` since ${(Date.parse(query.since) - START) / 1000}`;
      calls.push(`history ${query.limit} of ${query.ids?.length}${since}`);
      given.push(options);
      return store.typeHistory(query, options);
    },
  });
  const write = (id: string, elements: object = {}, type = 'Patient'): Promise<unknown> =>
    store.commit([put(resourceOf(type, id, elements as never), {}, 'clinic')]);
  return { store, member, counted, calls, given, criteria, write };
}

function history(
  store: ResourceStore,
  caller: Caller,
  query: Partial<GuardedTypeHistory> = {},
  options?: CallOptions,
): Promise<readonly TypeHistoryEntry[]> {
  return guardStore(store, caller).typeHistory({ type: 'Patient', limit: 20, ...query }, options);
}

const told = (entries: readonly TypeHistoryEntry[]): string[] =>
  entries.map(({ id, versionId }) => `${id}/${versionId}`);

/** The seconds after the start, as an instant. */
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();

test('a caller who sees the whole type reads one page of the store', async () => {
  const { store, member, counted, calls, write } = await open({ rules: [{ resourceType: 'Patient' }] });
  for (const id of ['a', 'b', 'a']) await write(id);
  await store.commit([{ kind: 'delete', key: { project: 'clinic', type: 'Patient', id: 'b' } }]);
  for (const caller of [systemCaller('clinic'), member]) {
    calls.length = 0;
    expect(told(await history(counted, caller))).toEqual(['b/2', 'a/2', 'b/1', 'a/1']);
    expect(told(await history(counted, caller, { limit: 2 }))).toEqual(['b/2', 'a/2']);
    expect(calls).toEqual(['history 20 of undefined', 'history 2 of undefined']);
  }
});

test('a caller who cannot read the history of the type gets nothing, without a store call', async () => {
  const { member, counted, calls, write } = await open({
    rules: [{ resourceType: 'Patient', interaction: ['read', 'search'] }],
  });
  await write('a');
  expect(await history(counted, member)).toEqual([]);
  expect(calls).toEqual([]);
});

test('contained resources are masked too: by the rules of a member, and by secrets for trusted code', async () => {
  const { store, member, write } = await open({
    rules: [{ resourceType: 'Basic' }, { resourceType: 'Device', hiddenFields: ['note'] }],
  });
  const device = { resourceType: 'Device', id: 'd', note: [{ text: 'hidden' }] };
  const client = { resourceType: 'ClientApplication', id: 'c', secret: 'hidden' };
  await write('b', { contained: [device, client] }, 'Basic');
  const inside = async (caller: Caller): Promise<unknown> => {
    const [entry] = await history(store, caller, { type: 'Basic' });
    return entry?.kind === 'put' ? (entry.resource as { contained?: unknown }).contained : undefined;
  };
  const shown = { resourceType: 'ClientApplication', id: 'c' };
  expect(await inside(systemCaller('clinic'))).toEqual([device, shown]);
  expect(await inside(member)).toEqual([{ resourceType: 'Device', id: 'd' }, shown]);
});

test('next to a rule for the whole type, other rules are decided for each version', async () => {
  const { store, member, counted, calls, write } = await open({
    rules: [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }, ...FEMALE],
  });
  await write('a', { gender: 'female', birthDate: '1990-01-01' });
  await write('b', { gender: 'male', birthDate: '1991-01-01' });
  await store.commit([{ kind: 'delete', key: { project: 'clinic', type: 'Patient', id: 'c' } }]);
  calls.length = 0;
  const entries = await history(counted, member);
  expect(entries.map((entry) => entry.kind === 'put' && (entry.resource as { birthDate?: string }).birthDate)).toEqual([
    undefined,
    '1990-01-01',
  ]);
  expect(calls).toEqual(['history 20 of undefined', 'read 2']);
});

test('a caller who sees a part of the type reads as many resources as the page has entries, and more if these are not enough', async () => {
  const { member, counted, calls, write } = await open({ rules: FEMALE });
  for (const id of ['a', 'b', 'c']) await write(id, { gender: 'female' });
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 2 }))).toEqual(['c/1', 'b/1']);
  expect(calls).toEqual(['search 3', 'history 50 of 2 since 1.001', 'read 2']);
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 3 }))).toEqual(['c/1', 'b/1', 'a/1']);
  expect(calls).toEqual(['search 4', 'history 50 of 3', 'read 3']);
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 60 }))).toEqual(['c/1', 'b/1', 'a/1']);
  expect(calls).toEqual(['search 61', 'history 60 of 3', 'read 3']);
  // The version of the resource that changed last was hidden, so the others matter.
  await write('c', { gender: 'male' });
  await write('c', { gender: 'female' });
  await write('b', { gender: 'male' });
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 2 }))).toEqual(['c/3', 'c/1']);
  expect(calls).toEqual(['search 3', 'history 50 of 2', 'read 2']);
  await write('a', { gender: 'female' });
  await write('c', { gender: 'male' });
  await write('d', { gender: 'male' });
  await write('d', { gender: 'female' });
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 1 }))).toEqual(['d/2']);
  expect(calls).toEqual(['search 2', 'history 50 of 1 since 7.001', 'read 1']);
});

test('a further page reads all resources at once', async () => {
  const { member, counted, calls, write } = await open({ rules: FEMALE });
  for (const id of ['a', 'b', 'c']) await write(id, { gender: 'female' });
  const [first] = await history(counted, member, { limit: 1 });
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 1, after: first! }))).toEqual(['b/1']);
  expect(calls).toEqual(['search 1001', 'history 50 of 3', 'read 2']);
});

test('a page that the last changed resources do not fill is built again from more resources', async () => {
  const { member, counted, calls, write } = await open({ rules: FEMALE });
  await write('a', { gender: 'female' });
  await write('a', { gender: 'female' });
  await write('b', { gender: 'male' });
  await write('b', { gender: 'female' });
  await write('c', { gender: 'male' });
  await write('c', { gender: 'female' });
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 4 }))).toEqual(['c/2', 'b/2', 'a/2', 'a/1']);
  expect(calls).toEqual(['search 5', 'history 50 of 3', 'read 3']);
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 2 }))).toEqual(['c/2', 'b/2']);
  expect(calls).toEqual(['search 3', 'history 50 of 2 since 2.001', 'read 2']);
});

test('hidden versions in between do not end a page', async () => {
  const { member, counted, calls, write } = await open({ rules: FEMALE });
  for (let version = 1; version <= 3; version += 1) await write('a', { gender: 'female' });
  for (let version = 4; version <= 59; version += 1) await write('a', { gender: 'male' });
  await write('a', { gender: 'female' });
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 3 }))).toEqual(['a/60', 'a/3', 'a/2']);
  expect(calls).toEqual(['search 4', 'history 50 of 1', 'read 1', 'history 50 of 1', 'read 1']);
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 5 }))).toEqual(['a/60', 'a/3', 'a/2', 'a/1']);
  expect(calls).toEqual(['search 6', 'history 50 of 1', 'read 1', 'history 50 of 1', 'read 1']);
  // Exactly as many versions as are decided at once: one more call shows that these are all.
  calls.length = 0;
  expect(told(await history(counted, member, { limit: 5, since: at(11) }))).toEqual(['a/60']);
  expect(calls).toEqual(['search 6', 'history 50 of 1 since 11', 'read 1', 'history 50 of 1 since 11', 'read 0']);
});

test('reads no more resources than a page needs', async () => {
  const { member, counted, calls, write } = await open({ rules: FEMALE });
  for (let version = 1; version <= 51; version += 1) await write('a', { gender: 'female' });
  calls.length = 0;
  expect(await history(counted, member, { limit: 50 })).toHaveLength(50);
  expect(calls).toEqual(['search 51', 'history 50 of 1', 'read 1']);
});

test('a store without type history answers unsupported', async () => {
  const { store, member } = await open();
  const fault = await faultOf(history(storeWith(store, {}), member));
  expect([fault.code, fault.message]).toEqual([
    'unsupported',
    'The store of this service does not list the history of a type',
  ]);
});

test('begins at an instant, including that instant', async () => {
  const { member, counted, calls, criteria, write } = await open({ rules: FEMALE });
  for (const id of ['a', 'b', 'b', 'c']) await write(id, { gender: 'female' });
  calls.length = 0;
  expect(told(await history(counted, member, { since: at(3) }))).toEqual(['c/1', 'b/2']);
  expect(calls).toEqual(['search 21', 'history 50 of 2 since 3', 'read 2']);
  const low = START + 3000;
  expect(criteria.at(-1)).toMatchObject({
    of: [{ kind: 'match' }, { kind: 'last-updated', test: { kind: 'date', prefix: 'ge', low, high: low + 1 } }],
  });
  expect(told(await history(counted, member, { since: at(2.999) }))).toEqual(['c/1', 'b/2']);
  expect(told(await history(counted, member, { since: at(3.001) }))).toEqual(['c/1']);
  expect(told(await history(counted, member, { since: at(4.001) }))).toEqual([]);
});

test('rules that cannot match show nothing, without a search', async () => {
  const { member, counted, calls, write } = await open({
    rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=%none' }],
    parameters: [],
  });
  await write('a', { gender: 'female' });
  calls.length = 0;
  expect(await history(counted, member)).toEqual([]);
  expect(calls).toEqual(['history 50 of 0', 'read 0']);
});

test('is bounded by the resources that changed last', async () => {
  const { store, member, counted, calls, write } = await open({ rules: FEMALE });
  const patients = Array.from({ length: 1001 }, (_, index) =>
    put(resourceOf('Patient', `p${index}`, { gender: 'female' }), {}, 'clinic'),
  );
  await write('first', { gender: 'female' });
  await store.commit(patients.slice(0, 999));
  const [last] = await history(counted, member, { limit: 1 });
  expect(await history(counted, member, { limit: 1000 })).toHaveLength(1000);
  await store.commit(patients.slice(999));
  calls.length = 0;
  const fault = await faultOf(history(counted, member, { limit: 1000, after: last! }));
  expect([fault.code, fault.message]).toEqual([
    'too-costly',
    'More than 1000 resources changed since then; read the histories of single resources, or name a later "_since"',
  ]);
  // A sign-in that is checked again in between reads, too.
  expect(calls.find((call) => call.startsWith('search'))).toBe('search 1001');
  calls.length = 0;
  expect((await faultOf(history(counted, member, { limit: 2000 }))).code).toBe('too-costly');
  expect(calls.filter((call) => call.startsWith('search'))).toEqual(['search 1001']);
});

test('every store call has the signal of the caller', async () => {
  const { member, counted, given, write } = await open({ rules: FEMALE });
  await write('a', { gender: 'female' });
  const { signal } = new AbortController();
  given.length = 0;
  await history(counted, member, {}, { signal });
  await history(counted, systemCaller('clinic'), {}, { signal });
  expect(given.map((options) => options?.signal)).toEqual(given.map(() => signal));
  expect(given).toHaveLength(4);
});
