import { expect, test } from 'vitest';
import {
  type AuditRecord,
  createRepository,
  listMemberships,
  MemoryStore,
  signIn,
  toAuditEvent,
  verifyClientSecret,
  whoAmI,
} from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { signedIn, system } from '../repository/harness.js';

async function clinic(): Promise<{ store: MemoryStore; user: string; membership: string; records: AuditRecord[] }> {
  const store = new MemoryStore();
  await system(store);
  const { user, membership } = await signedIn(store);
  return { store, user, membership, records: [] };
}

test('a sign-in is recorded with the member that signed in', async () => {
  const { store, user, membership, records } = await clinic();
  const audit = (record: AuditRecord): void => void records.push(record);
  const caller = await signIn(store, { project: 'clinic', user }, { audit, purpose: 'TREAT', requestId: 'r1' });
  expect([caller.purpose, caller.requestId]).toEqual(['TREAT', 'r1']);
  expect(records).toMatchObject([
    {
      interaction: 'sign-in',
      who: { kind: 'member', project: 'clinic', membership: `ProjectMembership/${membership}`, user },
      targets: [{ type: 'ProjectMembership', id: membership }],
      purpose: 'TREAT',
      requestId: 'r1',
      outcome: { success: true },
    },
  ]);
  await createRepository({ store, caller, audit }).search('Patient');
  expect(records[1]).toMatchObject({ purpose: 'TREAT', requestId: 'r1' });
  await whoAmI(caller, { store, audit });
  expect(records[2]?.returned?.resources.map(({ type }) => type)).toEqual([
    'ProjectMembership',
    'Project',
    'User',
    'Practitioner',
  ]);
});

test('the record of a failed sign-in contains its identity, as AuditEvents with DICOM codes', async () => {
  const { store, user, membership, records } = await clinic();
  const audit = (record: AuditRecord): void => void records.push(record);
  const inactive = createRepository({ store, caller: await signIn(store, { membership }), audit });
  expect(inactive).toBeDefined();
  for (const identity of [
    { project: 'clinic', user: 'User/nobody' },
    { membership: 'ProjectMembership/nowhere' },
    { project: 'clinic', user: 'Mr Secret <x>' },
    undefined as never,
    { project: 'clinic', externalId: 'secret-subject' },
  ]) {
    await signIn(store, identity, { audit }).catch(() => undefined);
  }
  await signIn(store, { project: 'clinic', user }, { audit, requirePolicy: true }).catch(() => undefined);
  expect(records.map(({ who, targets, outcome }) => [who, targets, 'code' in outcome && outcome.code])).toEqual([
    [
      { kind: 'unknown', project: 'clinic' },
      [
        { type: 'Project', id: 'clinic' },
        { type: 'User', id: 'nobody' },
      ],
      'membership-missing',
    ],
    [{ kind: 'unknown' }, [{ type: 'ProjectMembership', id: 'nowhere' }], 'membership-missing'],
    [{ kind: 'unknown', project: 'clinic' }, [{ type: 'Project', id: 'clinic' }], 'invalid'],
    [{ kind: 'unknown' }, [], 'unauthenticated'],
    [{ kind: 'unknown', project: 'clinic' }, [{ type: 'Project', id: 'clinic' }], 'membership-missing'],
    [{ kind: 'unknown', project: 'clinic' }, [{ type: 'ProjectMembership', id: membership }], 'policy-required'],
  ]);
  expect(JSON.stringify(records)).not.toMatch(/secret|Mr/i);
  for (const record of records) {
    const event = toAuditEvent(record);
    expect(event.type.code).toBe('110114');
    expect(validateResource(R4, event)).toEqual([]);
  }
});

test('a sign-in returns no caller if its required record is refused', async () => {
  const { store, user } = await clinic();
  const audit = (): Promise<void> => Promise.reject(new Error('down'));
  const signing = signIn(store, { project: 'clinic', user }, { audit, requireAudit: true });
  await expect(signing).rejects.toMatchObject({ code: 'unavailable', details: { audit: true } });
});

test('the check of a client secret is recorded, and a wrong secret is a failure', async () => {
  const { store, records } = await clinic();
  const audit = (record: AuditRecord): void => void records.push(record);
  const wrong = { project: 'clinic', client: 'ClientApplication/feed', secret: 'guess' };
  expect(await verifyClientSecret(wrong, { store, audit })).toBe(false);
  expect(records).toMatchObject([
    {
      interaction: 'verify-secret',
      who: { kind: 'unknown', project: 'clinic' },
      targets: [
        { type: 'Project', id: 'clinic' },
        { type: 'ClientApplication', id: 'feed' },
      ],
      outcome: { success: false, code: 'unauthenticated' },
    },
  ]);
});

test('listing the memberships of a person is recorded', async () => {
  const { store, user, membership, records } = await clinic();
  const audit = (record: AuditRecord): void => void records.push(record);
  await listMemberships({ user }, { store, audit });
  expect(records).toMatchObject([
    { interaction: 'list-memberships', targets: [{ type: 'ProjectMembership', id: membership }], results: 1 },
  ]);
});
