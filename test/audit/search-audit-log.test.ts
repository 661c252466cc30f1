import { beforeAll, describe, expect, test } from 'vitest';
import {
  AUDIT_LOG_PROJECT,
  type Caller,
  createAuditLog,
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  searchAuditLog,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { codeOf, signedIn, system } from '../repository/harness.js';

const store = new MemoryStore();
let doctor: Caller;

/** Two clinics with patients of the same id, and a doctor who read one of them. */
beforeAll(async () => {
  for (const project of ['clinic', 'Clinic']) {
    const trusted = await system(store, project);
    for (const id of ['ann', 'bob']) await trusted.update({ resourceType: 'Patient', id });
    const subject = { reference: 'Patient/ann' };
    await trusted.update({ resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' }, subject });
  }
  const log = createAuditLog({ store, gather: 0 });
  doctor = await signedIn(store, { profile: { resourceType: 'Practitioner', id: 'dr' } });
  const { audit } = log;
  await executeFhirGraphql('{ ObservationList { id } }', { store, caller: doctor, audit, requireAudit: true });
  await createRepository({ store, caller: doctor, audit, requireAudit: true }).read('Patient', 'bob');
  const elsewhere = createRepository({ store, caller: systemCaller('Clinic'), audit, requireAudit: true });
  await elsewhere.read('Patient', 'ann');
  await log.close();
});

async function found(caller: Caller, query: string): Promise<readonly unknown[]> {
  const { entry = [] } = await searchAuditLog(query, { store, caller });
  return entry.map(({ resource }) => [
    resource?.subtype?.[0]?.display ?? resource?.subtype?.[0]?.code,
    resource?.agent[0]?.who?.reference ?? resource?.agent[0]?.altId,
  ]);
}

describe('a search for who saw a record', () => {
  test('finds for a patient the events of its own record, and of no other project', async () => {
    const ann = await signedIn(store, { profile: { resourceType: 'Patient', id: 'ann' } });
    expect(await found(ann, '')).toEqual([['graphql', 'Practitioner/dr']]);
    expect(await found(ann, 'patient=Patient/bob')).toEqual([]);
  });

  test('finds for an officer the events of the project by patient, as its policy allows', async () => {
    const officer = await signedIn(store, { rules: [{ resourceType: 'AuditEvent', readonly: true }] });
    expect(await found(officer, 'patient=Patient/ann')).toEqual([['graphql', 'Practitioner/dr']]);
    expect(await found(officer, '_sort=date')).toHaveLength(2);
    const narrow = await signedIn(store, {
      rules: [{ resourceType: 'AuditEvent', criteria: 'AuditEvent?patient=Patient/bob', readonly: true }],
    });
    expect(await found(narrow, '')).toEqual([['read', 'Practitioner/dr']]);
  });

  test('finds nothing for callers without a rule for AuditEvent, and refuses rules that lead elsewhere', async () => {
    const none = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    expect(await found(none, '')).toEqual([]);
    const chained = await signedIn(store, {
      rules: [{ resourceType: 'AuditEvent', criteria: 'AuditEvent?patient:Patient.active:not=true' }],
    });
    expect(await codeOf(searchAuditLog('', { store, caller: chained }))).toBe('unsupported');
  });

  test('finds for callers of the log itself the events of all projects', async () => {
    expect(await found(serverCaller(AUDIT_LOG_PROJECT), 'patient=Patient/ann')).toHaveLength(2);
  });

  test('includes no event of another project', async () => {
    const officer = await signedIn(store, { rules: [{ resourceType: '*', readonly: true }] });
    const { entry = [] } = await searchAuditLog('_include=AuditEvent:patient', { store, caller: officer });
    expect(entry.map(({ resource }) => resource?.source?.observer.identifier?.value)).toEqual([
      'clinic',
      'clinic',
      undefined,
      undefined,
    ]);
  });
});
