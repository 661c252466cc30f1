import { describe, expect, test } from 'vitest';
import { type FhirError, type MemberCaller, MemoryStore, systemCaller } from '../../src/index.js';
import type { Criteria, ReadResult, Write } from '../../src/store.js';
import { loadPolicyUser, withPolicyChecks } from '../../src/access/write/checks.js';
import type { OwnWrite, ReadyWrite } from '../../src/access/write/ready-write.js';
import { and, notLastUpdatedAt, or, refersTo } from '../../src/search/criteria/criteria.js';
import { caller } from './decisions.js';

const key = { project: 'clinic', type: 'AccessPolicy', id: 'x' };
const own = (write: Write): OwnWrite => ({ role: 'own', write, from: 2, readRules: [] });
const PUT = own({ kind: 'put', key, resource: { resourceType: 'AccessPolicy', id: 'x' } });
const DELETE = own({ kind: 'delete', key });
const trusted = systemCaller('clinic');
const LAST = '2024-01-01T00:00:00Z';

const project = (elements: object = {}): ReadResult => ({
  status: 'found',
  resource: { resourceType: 'Project', id: 'clinic', ...elements },
  versionId: '1',
  lastUpdated: LAST,
});
const check = (type: string, criteria: Criteria, scope = 'clinic'): unknown => ({
  kind: 'assert-no-match',
  query: { project: scope, type, criteria },
});
const writes = (ready: readonly ReadyWrite[]): unknown[] =>
  ready.map((one) => (one.role === 'unchanged' ? one : one.write));

describe('a commit that writes a policy checks', () => {
  const NAMED = refersTo('access-policy', key);
  const ITSELF: Criteria = { kind: 'id', ids: ['m'] };
  const unbound: MemberCaller = { ...caller({}), bound: false };

  test('that it binds no membership of a writer with policies, and not the own membership of a writer without', () => {
    const users = refersTo('user', { type: 'User', id: 'u' });
    const bound = withPolicyChecks(caller({}), [PUT], undefined);
    expect(writes(bound)).toEqual([check('ProjectMembership', and([or([ITSELF, users]), NAMED])), PUT.write]);
    const free = withPolicyChecks(unbound, [PUT], undefined);
    expect(writes(free)).toEqual([check('ProjectMembership', and([ITSELF, NAMED])), PUT.write]);
    const [{ refusal }] = free as unknown as [{ refusal: () => FhirError }];
    expect(refusal()).toMatchObject({
      code: 'forbidden',
      message: 'Not allowed to write AccessPolicy/x, which binds the caller; ask another administrator',
    });
    expect(withPolicyChecks(trusted, [PUT], undefined)).toEqual([PUT]);
  });

  test('that no membership names a deleted policy, and that the Project is unchanged', () => {
    const same = and([{ kind: 'id', ids: ['clinic'] }, notLastUpdatedAt(LAST)]);
    const ready = withPolicyChecks(trusted, [DELETE], project());
    expect(writes(ready)).toEqual([check('ProjectMembership', NAMED), check('Project', same, ''), DELETE.write]);
    expect(ready[1]).toMatchObject({ role: 'added', from: 2, refusal: 'decide again' });
    const [{ refusal }] = ready as unknown as [{ refusal: (holder: string) => FhirError }];
    expect(refusal('ProjectMembership/m')).toMatchObject({
      code: 'conflict',
      message:
        'AccessPolicy/x is used by ProjectMembership/m and cannot be deleted; give the member other access first',
      details: { usedBy: 'ProjectMembership/m' },
    });
    for (const none of [undefined, { status: 'missing' } as const]) {
      expect(writes(withPolicyChecks(trusted, [DELETE], none))).toEqual([
        check('ProjectMembership', NAMED),
        DELETE.write,
      ]);
    }
  });

  test('nothing for other resources', () => {
    const other = own({ kind: 'delete', key: { ...key, type: 'Patient' } });
    expect(withPolicyChecks(caller({}), [other], project())).toEqual([other]);
  });

  const policy = { reference: 'AccessPolicy/x' };
  const other = { accessPolicy: { reference: 'AccessPolicy/y' } };
  test.each<[boolean, object]>([
    [true, { defaultAccessPolicies: [other, { accessPolicy: policy }] }],
    [true, { defaultPatientAccessPolicy: policy }],
    [false, { defaultAccessPolicies: [other, null], defaultPatientAccessPolicy: other.accessPolicy }],
    [false, { defaultAccessPolicies: { accessPolicy: policy } }],
  ])('that the Project does not have it among its defaults: refused %s for %j', (refused, elements) => {
    let error: unknown;
    try {
      withPolicyChecks(trusted, [DELETE], project(elements));
    } catch (thrown) {
      error = thrown;
    }
    if (!refused) expect(error).toBeUndefined();
    else {
      expect(error).toMatchObject({
        code: 'conflict',
        message:
          'AccessPolicy/x is used by Project/clinic and cannot be deleted; give the project other defaults first',
        details: { usedBy: 'Project/clinic', index: 2 },
      });
    }
  });

  test('together with the Project, which is read if only a policy is deleted', async () => {
    const store = new MemoryStore();
    const resource = { resourceType: 'Project', id: 'clinic', name: 'Clinic' } as const;
    await store.commit([{ kind: 'put', key: { project: '', type: 'Project', id: 'clinic' }, resource }]);
    expect(await loadPolicyUser(store, trusted, [PUT, DELETE], undefined)).toMatchObject({ resource });
    const patient = own({ kind: 'delete', key: { ...key, type: 'Patient' } });
    const added: ReadyWrite = { role: 'added', write: DELETE.write, from: 0 };
    expect(await loadPolicyUser(store, trusted, [PUT, patient, added], undefined)).toBeUndefined();
  });
});
