import { describe, expect, test } from 'vitest';
import { FhirError, serverCaller, systemCaller } from '../../src/index.js';
import { type Criteria, R4, type ReadResult } from '../../src/store.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { WrittenResources } from '../../src/access/evaluate/written-resources.js';
import { MEMBER_USERS } from '../../src/access/policy/default-rules.js';
import { unrestrictedRule } from '../../src/access/rule.js';
import { decideTrusted, type TrustedState } from '../../src/access/write/decide-trusted.js';
import { formerMembershipWrite, directoryEntry, endInvitation } from '../../src/access/write/membership-records.js';
import type { ReadyWrite } from '../../src/access/write/ready-write.js';
import { ALL, and, NONE, refersTo } from '../../src/search/criteria/criteria.js';
import { NOW } from './decisions.js';

const MEMBERSHIP = {
  resourceType: 'ProjectMembership',
  id: 'm',
  user: { reference: 'User/u' },
  profile: { reference: 'Patient/p' },
};
const KEY = { type: 'ProjectMembership', id: 'm' };
const LAST = '2024-01-01T00:00:00Z';
const found: ReadResult = { status: 'found', resource: MEMBERSHIP, versionId: '4', lastUpdated: LAST };
const gone: ReadResult = { status: 'gone', versionId: '5', lastUpdated: LAST };

function stateOf(more: Partial<TrustedState> = {}): TrustedState {
  return {
    model: R4,
    caller: systemCaller('clinic'),
    stored: new Map(),
    memberUsers: undefined,
    written: WrittenResources.none(R4, NOW),
    ...more,
  };
}

const storing = (name: string, stored: ReadResult): TrustedState => stateOf({ stored: new Map([[name, stored]]) });
const readyOf = (state: TrustedState, write: GuardedWrite): readonly ReadyWrite[] =>
  decideTrusted(state, write, 2).ready;

describe('the decided write of trusted code', () => {
  test('is stamped, with its unique texts, after the entry of a membership in the directory', () => {
    const resource = { ...MEMBERSHIP, externalId: 'x' };
    const { ready, state } = decideTrusted(
      stateOf(),
      { kind: 'put', key: KEY, resource, unique: ['mine'], generatedId: true, expect: { version: '3' } },
      2,
    );
    const key = { ...KEY, project: 'clinic' };
    const stamped = { ...resource, meta: { project: 'clinic' } };
    expect(ready).toEqual([
      ...directoryEntry(key, 2, resource),
      {
        role: 'own',
        write: {
          kind: 'put',
          key,
          resource: stamped,
          expect: { version: '3' },
          unique: ['mine', 'ProjectMembership.externalId=x'],
        },
        from: 2,
        readRules: [unrestrictedRule('trusted code')],
      },
    ]);
    expect(state.written.get('ProjectMembership', 'm')).toEqual(stamped);
  });

  test('is answered without secrets', () => {
    const resource = { resourceType: 'SmartHealthLink', id: 's' };
    const [own] = readyOf(stateOf(), { kind: 'put', key: { type: 'SmartHealthLink', id: 's' }, resource });
    expect(own).toMatchObject({
      write: { unique: [] },
      readRules: [unrestrictedRule('trusted code', ['passcodeHash'])],
    });
  });

  test('limits an assertion to resources that the caller can search', () => {
    const women: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };
    const ready = (more: Partial<TrustedState>, type: string, criteria: Criteria): unknown =>
      readyOf(stateOf(more), { kind: 'assert-no-match', query: { type, criteria } });
    const own = (project: string, type: string, criteria: Criteria): unknown => [
      {
        role: 'own',
        write: { kind: 'assert-no-match', query: { project, type, criteria } },
        from: 2,
        readRules: [],
      },
    ];
    const users: Criteria = { kind: 'id', ids: ['u'] };
    expect(ready({}, 'Patient', women)).toEqual(own('clinic', 'Patient', women));
    expect(ready({ memberUsers: users }, 'User', ALL)).toEqual(own('', 'User', users));
    expect(ready({}, 'User', ALL)).toEqual(own('', 'User', MEMBER_USERS));
    expect(ready({ caller: serverCaller() }, 'Patient', women)).toEqual(own('', 'Patient', NONE));
    const owner = refersTo('owner', { type: 'User', id: 'u' });
    const itself: Criteria = { kind: 'id', ids: ['clinic'] };
    expect(ready({}, 'Project', owner)).toEqual(own('', 'Project', and([owner, itself])));
  });
});

describe('a deletion by trusted code', () => {
  const deletion = (more: object = {}): GuardedWrite => ({ kind: 'delete', key: KEY, ...more });
  const key = { ...KEY, project: 'clinic' };
  const removal = [
    { role: 'added', write: { kind: 'delete', key: { ...KEY, project: '' } }, from: 2 },
    { role: 'added', write: endInvitation(KEY.id), from: 2 },
  ];
  const former = { role: 'added', write: formerMembershipWrite('clinic', MEMBERSHIP), from: 2 };
  const own = (expected: unknown): unknown => ({
    role: 'own',
    write: { kind: 'delete', key, expect: expected },
    from: 2,
    readRules: [],
  });

  test('of a membership deletes the version that has the links in its record', () => {
    const state = storing('ProjectMembership/m', found);
    expect(readyOf(state, deletion())).toEqual([...removal, former, own({ version: '4' })]);
    expect(readyOf(state, deletion({ mustExist: true }))).toEqual([...removal, former, own({ version: '4' })]);
    expect(readyOf(state, deletion({ expect: { version: '2' } }))).toEqual([...removal, former, own({ version: '2' })]);
  });

  test('of a missing membership removes no entry, because the entry can belong to another project', () => {
    for (const none of [gone, { status: 'missing' } as const]) {
      expect(readyOf(storing('ProjectMembership/m', none), deletion())).toEqual([own({ version: null })]);
    }
  });

  test('of a client with its membership records no link, because a client is its own profile', () => {
    const client = { ...MEMBERSHIP, user: { reference: 'ClientApplication/c' } };
    const state = storing('ProjectMembership/m', { ...found, resource: client });
    expect(readyOf(state, deletion())).toEqual([...removal, own({ version: '4' })]);
  });

  test('of a membership that the commit has written before deletes that version', () => {
    const before = storing('ProjectMembership/m', found);
    const links = { ...MEMBERSHIP, profile: { reference: 'Patient/new' } };
    const { state } = decideTrusted(before, { kind: 'put', key: KEY, resource: links }, 1);
    const { ready, state: after } = decideTrusted(state, deletion(), 2);
    const former = formerMembershipWrite('clinic', links);
    expect(ready).toEqual([...removal, { role: 'added', write: former, from: 2 }, own(undefined)]);
    expect(after.written.get('ProjectMembership', 'm')).toBeNull();
    expect(readyOf(after, deletion())).toEqual([own(undefined)]);
  });

  test('of another resource deletes any version', () => {
    const patient = { type: 'Patient', id: 'p' };
    const ready = readyOf(storing('Patient/p', { ...found, resource: { resourceType: 'Patient', id: 'p' } }), {
      kind: 'delete',
      key: patient,
      mustExist: true,
    });
    expect(ready.at(-1)).toEqual({
      role: 'own',
      write: { kind: 'delete', key: { ...patient, project: 'clinic' }, expect: undefined },
      from: 2,
      readRules: [],
    });
  });

  test.each<[string, object, ReadResult, string | undefined]>([
    ['never existed', { mustExist: true }, { status: 'missing' }, 'ProjectMembership/m was not found'],
    ['was deleted', { mustExist: true }, gone, undefined],
    ['has a version that the store checks', { mustExist: true, expect: { version: '1' } }, gone, undefined],
    ['need not exist', { mustExist: false }, { status: 'missing' }, undefined],
    ['may have a version', { mustExist: true, expect: { version: '1' } }, { status: 'missing' }, undefined],
    ['is demanded only in a version', { expect: { version: '1' } }, { status: 'missing' }, undefined],
  ])('of a resource that %s: %j', (_, more, stored, message) => {
    let error: unknown;
    try {
      decideTrusted(storing('ProjectMembership/m', stored), deletion(more), 2);
    } catch (thrown) {
      error = thrown;
    }
    expect(error instanceof FhirError ? error.message : error).toBe(message);
  });
});
