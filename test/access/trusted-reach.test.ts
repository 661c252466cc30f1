import { describe, expect, test } from 'vitest';
import { FhirError, MemoryStore, serverCaller, systemCaller } from '../../src/index.js';
import type { ReadResult, ResourceKey } from '../../src/store.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import {
  isSystemBot,
  loadTrusted,
  assertWithinReach,
  restsOnStored,
  withWhatStays,
} from '../../src/access/write/decide-trusted.js';
import { ALL } from '../../src/search/criteria/criteria.js';

type Put = GuardedWrite & { kind: 'put' };
const put = (type: string, id: string, more: object = {}, elements: object = {}): Put => ({
  kind: 'put',
  key: { type, id },
  resource: { resourceType: type, id, ...elements },
  ...more,
});
const deletion = (type: string, id: string, more: object = {}): GuardedWrite => ({
  kind: 'delete',
  key: { type, id },
  ...more,
});
const assertion = (type: string): GuardedWrite => ({ kind: 'assert-no-match', query: { type, criteria: ALL } });
const clinic = systemCaller('clinic');

function refusal(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error instanceof FhirError ? [error.code, error.message, error.details] : error;
  }
  return 'within reach';
}

describe('the reach of trusted code', () => {
  const OUT = 'out of reach of trusted code of one project; that takes trusted code above projects';
  const above = (type: string): string =>
    `Trusted code above projects reaches Users and Projects only, not ${type}; it must name a project`;
  test.each<[string, GuardedWrite, string]>([
    ['a User', put('User', 'u'), `Users are ${OUT}`],
    ['a User of the id of its project', put('User', 'clinic'), `Users are ${OUT}`],
    ['another Project', put('Project', 'other'), `Other Projects are ${OUT}`],
    ['the deletion of its Project', deletion('Project', 'clinic'), `Deleting a Project is ${OUT}`],
    ['the deletion of another Project', deletion('Project', 'other'), `Other Projects are ${OUT}`],
  ])('of one project does not include %s', (_, write, message) => {
    expect(refusal(() => assertWithinReach(clinic, write, 3))).toEqual(['forbidden', message, { index: 3 }]);
  });

  test('of one project includes its resources, its Project and every assertion', () => {
    for (const write of [put('Project', 'clinic'), put('Patient', 'p'), deletion('Patient', 'p'), assertion('User')]) {
      expect(refusal(() => assertWithinReach(clinic, write, 0))).toBe('within reach');
    }
  });

  test('of the server includes a project that it names, and everything above projects', () => {
    for (const write of [put('Patient', 'p'), put('User', 'u'), deletion('Project', 'clinic')]) {
      expect(refusal(() => assertWithinReach(serverCaller('clinic'), write, 0))).toBe('within reach');
    }
    expect(refusal(() => assertWithinReach(serverCaller(), put('User', 'u'), 0))).toBe('within reach');
    const error = ['forbidden', above('Patient'), { index: 1 }];
    expect(refusal(() => assertWithinReach(serverCaller(), put('Patient', 'p'), 1))).toEqual(error);
  });
});

describe('a write by trusted code over a stored resource', () => {
  const SECRET = { secret: 'stored' };
  const found = (type: string, elements: object): ReadResult => ({
    status: 'found',
    resource: { resourceType: type, id: 'x', ...elements },
    versionId: '4',
    lastUpdated: '2024-01-01T00:00:00Z',
  });
  const keep = { keepSecrets: true };

  test.each<[string, boolean, Put]>([
    ['its Project', true, put('Project', 'clinic')],
    ['a Bot', true, put('Bot', 'b')],
    ['a client whose secret stays', true, put('ClientApplication', 'c', keep)],
    ['a client with its secret', false, put('ClientApplication', 'c')],
    ['a resource without secrets', false, put('Patient', 'p', keep)],
  ])('is %s: %s', (_, expected, write) => {
    expect(restsOnStored(clinic, write)).toBe(expected);
  });

  test('keeps the secret of a client, of the read or demanded version', () => {
    const server = serverCaller('clinic');
    const write = put('ClientApplication', 'x', keep);
    const settled = { resource: { ...write.resource, ...SECRET }, expect: { version: '4' } };
    expect(withWhatStays(server, write, found('ClientApplication', SECRET))).toEqual(settled);
    const demanding = { ...write, expect: { version: '2' } };
    expect(withWhatStays(server, demanding, found('ClientApplication', SECRET)).expect).toEqual({ version: '2' });
    expect(withWhatStays(server, write, { status: 'missing' })).toEqual({
      resource: write.resource,
      expect: undefined,
    });
    const whole = put('ClientApplication', 'x');
    for (const stored of [undefined, found('ClientApplication', SECRET)]) {
      expect(withWhatStays(server, whole, stored)).toEqual({ resource: whole.resource, expect: undefined });
    }
  });

  test('does not let a project change a Bot of the operator', () => {
    const system = { system: true };
    const error = [
      'forbidden',
      'A Bot with "system": true is out of reach of trusted code of one project; that takes trusted code above projects',
      undefined,
    ];
    const bot = put('Bot', 'x');
    expect(refusal(() => withWhatStays(clinic, put('Bot', 'x', {}, system), { status: 'missing' }))).toEqual(error);
    expect(refusal(() => withWhatStays(clinic, bot, found('Bot', system)))).toEqual(error);
    expect(withWhatStays(clinic, bot, found('Bot', {}))).toEqual({ resource: bot.resource, expect: { version: '4' } });
    expect(withWhatStays(clinic, bot, { status: 'missing' }).expect).toEqual({ version: null });
    expect(isSystemBot(put('Patient', 'x', {}, system).resource)).toBe(false);
  });

  test('does not restore a deleted Project', () => {
    const gone: ReadResult = { status: 'gone', versionId: '2', lastUpdated: '2024-01-01T00:00:00Z' };
    expect(refusal(() => withWhatStays(clinic, put('Project', 'clinic'), gone))).toEqual([
      'forbidden',
      'Bringing back a deleted Project is out of reach of trusted code of one project; that takes trusted code above projects',
      undefined,
    ]);
    expect(withWhatStays(serverCaller('clinic'), put('Project', 'clinic'), gone).expect).toBeUndefined();
  });
});

describe('trusted code reads only the resources that it needs', () => {
  const member = { type: 'ProjectMembership', id: 'm' };
  test.each<[string, readonly GuardedWrite[], readonly string[] | undefined]>([
    ['nothing for a write', [put('Patient', 'p'), deletion('Patient', 'q'), assertion('Patient')], undefined],
    ['a Bot that it writes', [put('Bot', 'b')], ['clinic Bot/b']],
    ['a membership that it removes', [deletion(member.type, member.id)], ['clinic ProjectMembership/m']],
    [
      'not a resource that it has just written',
      [put(member.type, member.id), deletion(member.type, member.id)],
      undefined,
    ],
    ['a resource that must exist to be deleted', [deletion('Patient', 'p', { mustExist: true })], ['clinic Patient/p']],
    ['not if a version is demanded', [deletion('Patient', 'p', { mustExist: true, expect: { version: '1' } })], undefined], // prettier-ignore
  ])('%s', async (_, writes, expected) => {
    const store = new MemoryStore();
    const read = store.read.bind(store);
    let asked: readonly string[] | undefined;
    store.read = (keys: readonly ResourceKey[], options) => {
      asked = keys.map(({ project, type, id }) => `${project} ${type}/${id}`);
      return read(keys, options);
    };
    const { stored, memberUsers } = await loadTrusted(store, clinic, writes, undefined);
    expect(asked).toEqual(expected);
    expect(stored.size).toBe(expected?.length ?? 0);
    expect(memberUsers).toBeUndefined();
  });

  test('the members of its project if it asserts something about Users', async () => {
    const store = new MemoryStore();
    const resource = { resourceType: 'ProjectMembership', id: 'm', user: { reference: 'User/ann' } } as const;
    await store.commit([{ kind: 'put', key: { project: 'clinic', ...member }, resource }]);
    for (const writes of [[assertion('User')], [put('Patient', 'p'), assertion('Patient'), assertion('User')]]) {
      const { memberUsers } = await loadTrusted(store, clinic, writes, undefined);
      expect(memberUsers).toEqual({ kind: 'id', ids: ['ann'] });
    }
    for (const [server, type] of [
      [serverCaller('clinic'), 'User'],
      [serverCaller(), 'Patient'],
    ] as const) {
      expect((await loadTrusted(store, server, [assertion(type)], undefined)).memberUsers).toBeUndefined();
    }
  });
});
