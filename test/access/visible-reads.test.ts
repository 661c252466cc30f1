import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Caller,
  type Interaction,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import type { Criteria, HistoryPage, ReadResult, ResourceKey } from '../../src/store.js';
import { historyVisible, readVisible } from '../../src/access/read/visible-reads.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { caller as member } from './decisions.js';
import { plain } from './world.js';

const rule = (criteria: Criteria, hidden: string[] = [], interactions?: Interaction[]): AccessRule => ({
  ...unrestrictedRule('test', hidden),
  criteria,
  ...(interactions === undefined ? {} : { interactions: new Set(interactions) }),
});
const female: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };
const chained = { kind: 'chain', parameter: 'organization', type: 'Organization', of: ALL } as const;

let memory: MemoryStore;
/** The arguments of the store calls. */
let calls: { readonly read: ResourceKey[][]; searches: number; histories: number };
let store: ResourceStore;
/** Runs before each history that the store is asked for. */
let beforeHistory: () => Promise<void>;

beforeEach(() => {
  memory = new MemoryStore();
  calls = { read: [], searches: 0, histories: 0 };
  beforeHistory = () => Promise.resolve();
  store = {
    read: (keys: ResourceKey[], options: undefined) => {
      calls.read.push(keys);
      return memory.read(keys, options);
    },
    model: memory.model,
    search: (...given: Parameters<ResourceStore['search']>) => {
      calls.searches += 1;
      return memory.search(...given);
    },
    history: async (...given: Parameters<ResourceStore['history']>) => {
      calls.histories += 1;
      await beforeHistory();
      return memory.history(...given);
    },
  } as unknown as ResourceStore;
});

async function put(type: string, id: string, more: object = {}): Promise<void> {
  await memory.commit([
    { kind: 'put', key: { project: 'clinic', type, id }, resource: plain({ resourceType: type, id, ...more }) },
  ]);
}

async function remove(type: string, id: string): Promise<void> {
  await memory.commit([{ kind: 'delete', key: { project: 'clinic', type, id } }]);
}

/** `status versionId` and the elements of the resource. */
function told(results: readonly ReadResult[]): unknown[] {
  return results.map((one) => {
    if (one.status === 'missing') return 'missing';
    if (one.status !== 'found') return `${one.status} ${one.versionId}`;
    const { resourceType, id, meta: _meta, ...rest } = one.resource as unknown as { [name: string]: unknown };
    return { [`${String(resourceType)}/${String(id)}`]: one.versionId, ...rest };
  });
}

async function read(
  caller: Caller,
  ...keys: (readonly [type: string, id: string, version?: string])[]
): Promise<unknown> {
  const asked = keys.map(([type, id, version]) => ({ type, id, ...(version === undefined ? {} : { version }) }));
  return told(await readVisible({ store, caller, options: undefined }, asked));
}

async function history(caller: Caller, id: string, offset = 0, limit = 100): Promise<unknown> {
  const page: HistoryPage = await historyVisible({ store, caller, options: undefined }, { type: 'Patient', id }, { offset, limit }); // prettier-ignore
  return [page.entries.map(({ kind, versionId }) => `${kind} ${versionId}`).join(', '), page.total];
}

describe('a read', () => {
  test('by trusted code of resources out of its reach is missing, and the other resources are answered', async () => {
    await put('Patient', 'a');
    await memory.commit([
      {
        kind: 'put',
        key: { project: '', type: 'User', id: 'u' },
        resource: plain({ resourceType: 'User', id: 'u', firstName: 'Ann', passwordHash: 'x' }),
      },
    ]);
    const answers = await read(serverCaller(), ['Patient', 'a'], ['User', 'u']);
    expect(answers).toEqual(['missing', { 'User/u': '1', firstName: 'Ann' }]);
    expect(calls.read.flat().map(({ type }) => type)).not.toContain('Patient');
  });

  test('of old and current versions, of several types, answers each key in its position', async () => {
    await put('Patient', 'a', { gender: 'female', active: false });
    await put('Patient', 'a', { gender: 'male' });
    await put('Patient', 'a', { gender: 'female', active: true });
    await put('Patient', 'b', { gender: 'male' });
    await put('Patient', 'b', { gender: 'female' });
    await put('Patient', 'b', { gender: 'male' });
    await put('Organization', 'a', { name: 'A' });
    await put('Observation', 'a');
    const caller = member({ Patient: [rule(female)], Organization: [rule(ALL)] });
    const answers = await read(
      caller,
      ['Observation', 'a'],
      ['Patient', 'a'],
      ['Patient', 'b', '2'],
      ['Patient', 'a', '1'],
      ['Organization', 'a'],
      ['Patient', 'a', '2'],
      ['Patient', 'b'],
      ['Organization', 'a', '1'],
      ['Patient', 'nobody'],
      ['Patient', 'a', '9'],
    );
    expect(answers).toEqual([
      'missing',
      { 'Patient/a': '3', gender: 'female', active: true },
      'missing',
      { 'Patient/a': '1', gender: 'female', active: false },
      { 'Organization/a': '1', name: 'A' },
      'missing',
      'missing',
      { 'Organization/a': '1', name: 'A' },
      'missing',
      'missing',
    ]);
    // One call, with an old version and the current resource.
    expect(calls.read.map((keys) => keys.length)).toEqual([14]);
  });

  test('of a type without a rule does not call the store', async () => {
    await put('Observation', 'a');
    expect(await read(member({}), ['Observation', 'a'], ['Observation', 'a', '1'])).toEqual(['missing', 'missing']);
    expect(calls.read).toEqual([]);
  });

  test('of a version needs a rule for versions', async () => {
    await put('Patient', 'a');
    const reader = member({ Patient: [rule(ALL, [], ['read'])] });
    expect(await read(reader, ['Patient', 'a'], ['Patient', 'a', '1'])).toEqual([{ 'Patient/a': '1' }, 'missing']);
    const versions = member({ Patient: [rule(ALL, [], ['vread'])] });
    expect(await read(versions, ['Patient', 'a'], ['Patient', 'a', '1'])).toEqual(['missing', { 'Patient/a': '1' }]);
  });

  test('reveals a deletion only if a rule grants the type as a whole', async () => {
    await put('Patient', 'a', { gender: 'female' });
    await remove('Patient', 'a');
    expect(await read(member({ Patient: [rule(female), rule(ALL)] }), ['Patient', 'a'])).toEqual(['gone 2']);
    expect(await read(member({ Patient: [rule(female)] }), ['Patient', 'a'])).toEqual(['missing']);
    const open = member({ Patient: [rule(female), rule(ALL)] });
    expect(await read(open, ['Patient', 'a', '2'], ['Patient', 'a', '1'])).toEqual([
      'gone 2',
      { 'Patient/a': '1', gender: 'female' },
    ]);
    expect(await read(member({ Patient: [rule(female)] }), ['Patient', 'a', '2'])).toEqual(['missing']);
    expect(await read(systemCaller('clinic'), ['Patient', 'a'])).toEqual(['gone 2']);
  });

  test('hides hidden fields, also in contained resources, for members only', async () => {
    const contained = [{ resourceType: 'Observation', id: 'o', status: 'final' }];
    await put('Patient', 'a', { gender: 'female', contained });
    const caller = member({ Patient: [rule(ALL)], Observation: [rule(ALL, ['status'])] });
    expect(await read(caller, ['Patient', 'a'])).toEqual([
      { 'Patient/a': '1', gender: 'female', contained: [{ resourceType: 'Observation', id: 'o' }] },
    ]);
    expect(await read(systemCaller('clinic'), ['Patient', 'a'])).toEqual([
      { 'Patient/a': '1', gender: 'female', contained },
    ]);
    const closed = member({ Patient: [rule(ALL, ['gender', 'contained'])] });
    expect(await read(closed, ['Patient', 'a'], ['Patient', 'a', '1'])).toEqual([
      { 'Patient/a': '1' },
      { 'Patient/a': '1' },
    ]);
  });

  test('of trusted code hides secrets, of a type, inside, and of types without any', async () => {
    const client = { resourceType: 'ClientApplication', id: 'c', name: 'C' };
    await put('ClientApplication', 'c', { name: 'C', secret: 's' });
    await put('Patient', 'a', { contained: [{ ...client, secret: 's' }] });
    const inside = { 'Patient/a': '1', contained: [client] };
    const system = systemCaller('clinic');
    const mixed = await read(system, ['Patient', 'a'], ['ClientApplication', 'c'], ['Login', 'x']);
    expect(mixed).toEqual([inside, { 'ClientApplication/c': '1', name: 'C' }, 'missing']);
    expect(await read(system, ['Patient', 'a'], ['Patient', 'a', '1'], ['Patient', 'b'])).toEqual([
      inside,
      inside,
      'missing',
    ]);
    expect(await read(system, ['Patient', 'a'], ['Login', 'x'])).toEqual([inside, 'missing']);
    expect(await read(system, ['Patient', 'a', '1'], ['Patient', 'a'], ['Patient', 'b'])).toHaveLength(3);
    // Nothing to decide: the versions do not need the current resource.
    expect(calls.read.at(-1)).toHaveLength(3);
  });

  test('of a version needs one rule that grants it and the current resource', async () => {
    await put('Patient', 'a', { active: false });
    await put('Patient', 'a', { gender: 'female' });
    const inactive: Criteria = { kind: 'match', parameter: 'active', test: { kind: 'token', code: 'false' } };
    expect(await read(member({ Patient: [rule(female), rule(inactive)] }), ['Patient', 'a', '1'])).toEqual(['missing']);
    const both = member({ Patient: [rule(female), rule({ kind: 'id', ids: ['a'] })] });
    expect(await read(both, ['Patient', 'a', '1'])).toEqual([{ 'Patient/a': '1', active: false }]);
  });

  test('searches once per type for rules with chains', async () => {
    await put('Organization', 'north');
    await put('Patient', 'a', { managingOrganization: { reference: 'Organization/north' } });
    await put('Patient', 'b');
    const caller = member({ Patient: [rule(chained), rule({ ...chained, of: female })], Organization: [rule(ALL)] });
    const [a, b] = (await read(caller, ['Patient', 'a'], ['Patient', 'b'], ['Organization', 'north'])) as unknown[];
    expect([a, b]).toEqual([expect.objectContaining({ 'Patient/a': '1' }), 'missing']);
    expect(calls.searches).toBe(1);
  });
});

describe('a history', () => {
  test('under a rule for the whole type has each version, and the deletions', async () => {
    await put('Patient', 'a', { gender: 'male' });
    await remove('Patient', 'a');
    await put('Patient', 'a', { gender: 'female' });
    const open = member({ Patient: [rule(female), rule(ALL)] });
    expect(await history(open, 'a')).toEqual(['put 3, delete 2, put 1', 3]);
    expect(await history(open, 'a', 1, 1)).toEqual(['delete 2', 3]);
    expect(calls.histories).toBe(2);
    await remove('Patient', 'a');
    expect(await history(open, 'a')).toEqual(['delete 4, put 3, delete 2, put 1', 4]);
    expect(await history(member({ Patient: [rule(female)] }), 'a')).toEqual(['', 0]);
    expect(await history(open, 'nobody')).toEqual(['', 0]);
  });

  test('under another rule has the versions that the rule grants, and no deletion', async () => {
    await put('Patient', 'a', { gender: 'male' });
    await put('Patient', 'a', { gender: 'female' });
    await remove('Patient', 'a');
    await put('Patient', 'a', { gender: 'female' });
    expect(await history(member({ Patient: [rule(female)] }), 'a')).toEqual(['put 4, put 2', 2]);
    await put('Patient', 'a', { gender: 'male' });
    calls.histories = 0;
    expect(await history(member({ Patient: [rule(female)] }), 'a')).toEqual(['', 0]);
    expect(await history(member({ Observation: [rule(ALL)] }), 'a')).toEqual(['', 0]);
    expect(calls.histories).toBe(0);
  });

  test('hides in each version the hidden fields', async () => {
    await put('Patient', 'a', { gender: 'male', active: true });
    const page = { offset: 0, limit: 9 };
    for (const criteria of [ALL, { kind: 'id', ids: ['a'] } as const]) {
      const caller = member({ Patient: [rule(criteria, ['gender'])] });
      const { entries } = await historyVisible(
        { store, caller, options: undefined },
        { type: 'Patient', id: 'a' },
        page,
      );
      expect(entries.map((one) => (one.kind === 'put' ? one.resource : one))).toEqual([
        expect.not.objectContaining({ gender: 'male' }),
      ]);
    }
  });

  test.each([50, 51, 120])('of %i versions is paged over the granted versions', async (count) => {
    for (let n = 1; n <= count; n += 1)
      await put('Patient', 'a', { gender: (count - n) % 2 === 0 ? 'female' : 'male' });
    const caller = member({ Patient: [rule(female)] });
    const granted = Array.from({ length: Math.ceil(count / 2) }, (_, n) => `put ${count - 2 * n}`);
    expect(await history(caller, 'a', 0, 500)).toEqual([granted.join(', '), granted.length]);
    expect(await history(caller, 'a', 23, 2)).toEqual([granted.slice(23, 25).join(', '), granted.length]);
    expect(await history(caller, 'a', 500, 2)).toEqual(['', granted.length]);
  });

  test('of any length is one page of the store if a rule grants the type', async () => {
    for (let n = 1; n <= 60; n += 1) await put('Patient', 'a');
    expect(await history(member({ Patient: [rule(ALL)] }), 'a', 1, 1)).toEqual(['put 59', 60]);
    expect(calls.histories).toBe(1);
  });

  test('has no version twice if others are written between two batches', async () => {
    for (let n = 1; n <= 60; n += 1) await put('Patient', 'a', { gender: 'female' });
    beforeHistory = async () => {
      if (calls.histories === 2) await put('Patient', 'a', { gender: 'female' });
    };
    const all = Array.from({ length: 60 }, (_, n) => `put ${60 - n}`).join(', ');
    expect(await history(member({ Patient: [rule(female)] }), 'a')).toEqual([all, 60]);
  });

  test('that is written repeatedly ends with the version that was decided on', async () => {
    await put('Patient', 'a', { gender: 'female' });
    beforeHistory = () => put('Patient', 'a', { gender: 'female' });
    expect(await history(member({ Patient: [rule(female)] }), 'a')).toEqual(['put 3, put 2, put 1', 3]);
    expect(calls.histories).toBe(3);
  });
});
