import {
  type AuditRecord,
  executeFhirGraphql,
  type FhirError,
  MemoryStore,
  type Repository,
  systemCaller,
  toAuditEvent,
} from '../../src/index.js';
import { createSearch, R4 } from '../../src/store.js';
import type { Bundle, Patient } from '@medplum/fhirtypes';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { codeOf, repositoryOf, signedIn, system } from './harness.js';
import { warningsOf } from '../support/warnings.js';

const PATIENT: Patient = {
  resourceType: 'Patient',
  id: 'p1',
  gender: 'female',
  birthDate: '1987-06-05',
  name: [{ family: 'Confidential', given: ['Verysecret'] }],
  identifier: [{ system: 'http://hospital.example/mrn', value: 'MRN-4711' }],
  address: [{ city: 'Hiddentown', postalCode: '98765' }],
  telecom: [{ system: 'email', value: 'confidential@example.org' }],
};

interface Watched {
  readonly store: MemoryStore;
  readonly records: AuditRecord[];
  readonly repository: Repository;
  readonly caller: Awaited<ReturnType<typeof signedIn>>;
}

/** A member whose interactions are recorded. */
async function watched(): Promise<Watched> {
  const store = new MemoryStore();
  await (await system(store)).update(PATIENT);
  const caller = await signedIn(store, {
    rules: [{ resourceType: 'Patient' }, { resourceType: 'Basic', readonly: true }],
  });
  const records: AuditRecord[] = [];
  const repository = repositoryOf(store, caller, { audit: (record) => void records.push(record) });
  return { store, records, repository, caller };
}

/** Every kind of interaction, well and badly ended, with clinical values wherever a client can put some. */
async function everything({ store, repository, caller, records }: Watched): Promise<void> {
  const attempts: (() => Promise<unknown>)[] = [
    () => repository.create({ ...PATIENT, gender: 'other' }, { ifNoneExist: 'identifier=none|MRN-4711' }),
    () => repository.read('Patient', 'p1'),
    () => repository.read('Confidential' as never, 'p1'),
    () => repository.read('Patient', 'Verysecret Confidential'),
    () => repository.vread('Patient', 'p1', '1'),
    () => repository.update({ ...PATIENT, active: true }, { ifMatch: '1' }),
    () => repository.update({ ...PATIENT, active: true }, { ifMatch: '1' }),
    () => repository.patch('Patient', 'p1', [{ op: 'test', path: '/birthDate', value: '1987-06-05' }]),
    () => repository.patch('Patient', 'p1', [{ op: 'test', path: '/birthDate', value: '1999-09-09' }]),
    () => repository.search('Patient', 'family:exact=Confidential&birthdate=1987-06-05&_sort=-birthdate&_count=5'),
    () => repository.search('Patient', 'Verysecret=Hiddentown&family:Verysecret=x'),
    () => repository.search('Patient', '_filter=family eq "Confidential" and address-city eq "Hiddentown"'),
    () => repository.search('Patient', '_has:Verysecret:x:y=1'),
    () => repository.search('Patient', { 'Confidential.name': 'x', gender: 'female' }),
    () => repository.history('Patient', 'p1'),
    () => repository.update({ resourceType: 'Basic', id: 'b', code: { text: 'Confidential' } }),
    () => repository.transaction(bundle('transaction')),
    () => repository.transaction(bundle('batch')),
    () => repository.transaction(bundle('Confidential' as never)),
    () => repository.delete('Patient', 'p1'),
    () => repository.read('Patient', 'p1'),
  ];
  for (const attempt of attempts) await attempt().catch(() => undefined);
  const audit = (record: AuditRecord): void => void records.push(record);
  for (const query of [
    '{ PatientList(family: "Confidential") { name { family } } }',
    '{ Patient(id: "Verysecret") { birthDate } }',
    '{ Confidential { Hiddentown } }',
    'query ($family: String) { PatientList(family: $family, birthdate: "Verysecret") { id } }',
  ]) {
    await executeFhirGraphql(query, { store, caller, audit, variables: { family: 'Confidential' } });
  }
}

function bundle(type: 'transaction' | 'batch'): Bundle {
  return {
    resourceType: 'Bundle',
    type,
    entry: [
      { resource: { ...PATIENT, id: 'p2' }, request: { method: 'PUT', url: 'Patient/p2' } },
      { resource: PATIENT, request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=MRN-nothing' } },
      { request: { method: 'GET', url: 'Patient?family=Confidential' } },
      { request: { method: 'DELETE', url: 'Patient?identifier=MRN-nothing' } },
    ],
  };
}

describe('the audit trail of a repository', () => {
  test('has one record per interaction: the caller, the operation, the outcome', async () => {
    const { repository, records, caller } = await watched();
    await repository.read('Patient', 'p1');
    await repository.update({ ...PATIENT, active: true });
    await codeOf(repository.read('Patient', 'absent'));
    const who = {
      kind: 'member',
      project: 'clinic',
      membership: `ProjectMembership/${caller.membership}`,
      user: caller.user,
      profile: caller.profile,
    };
    const started = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const times = { started, duration: expect.any(Number) };
    expect(records).toEqual([
      {
        interaction: 'read',
        who,
        targets: [{ type: 'Patient', id: 'p1', versionId: '1' }],
        returned: { total: 1, resources: [{ type: 'Patient', id: 'p1', versionId: '1' }] },
        patients: { total: 1, ids: ['p1'] },
        outcome: { success: true },
        ...times,
      },
      {
        interaction: 'update',
        who,
        targets: [{ type: 'Patient', id: 'p1', versionId: '2' }],
        returned: { total: 1, resources: [{ type: 'Patient', id: 'p1', versionId: '2' }] },
        patients: { total: 1, ids: ['p1'] },
        outcome: { success: true },
        ...times,
      },
      {
        interaction: 'read',
        who,
        targets: [{ type: 'Patient', id: 'absent' }],
        outcome: { success: false, code: 'not-found' },
        ...times,
      },
    ]);
  });

  test('has the parameters of a search, never their values', async () => {
    const { repository, records } = await watched();
    await repository.search('Patient', 'family:exact=Confidential&birthdate=1987-06-05&_sort=-birthdate&gender=female');
    expect(records[0]).toMatchObject({
      interaction: 'search',
      targets: [{ type: 'Patient' }],
      parameters: ['family', 'birthdate', '_sort', 'gender'],
      results: 1,
    });
    await codeOf(repository.search('Patient', 'Confidential=1&gender=female'));
    expect(records[1]).toMatchObject({ parameters: ['gender'], outcome: { success: false, code: 'invalid' } });
    const test = { kind: 'token', code: 'x' } as const;
    const criteria = { kind: 'not', of: { kind: 'match', parameter: 'gender', test } } as const;
    await repository.search(
      'Patient',
      createSearch({ criteria: { kind: 'and', of: [criteria, { kind: 'id', ids: ['p1'] }] } }),
    );
    expect(records[2]).toMatchObject({ parameters: ['gender', '_id'], results: 1 });
  });

  test('has one record for a Bundle, with the outcome of its entries', async () => {
    const { repository, records } = await watched();
    const response = await repository.transaction(bundle('transaction'));
    const id = response.entry![1]!.response!.location!.split('/')[1];
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({
      interaction: 'transaction',
      results: 4,
      targets: [
        { type: 'Patient', id: 'p2', versionId: '1', interaction: 'update' },
        { type: 'Patient', id, versionId: '1', interaction: 'create' },
        { type: 'Patient', interaction: 'search' },
        { type: 'Patient', interaction: 'delete' },
      ],
    });
  });

  test('has for a query its types, its store calls and its first error', async () => {
    const { store, caller, records } = await watched();
    const audit = (record: AuditRecord): void => void records.push(record);
    const query = '{ PatientList { id ObservationList(_reference: subject) { id } } }';
    await executeFhirGraphql(query, { store, caller, audit });
    await executeFhirGraphql('{ Patient(id: "absent") { id } }', { store, caller, audit });
    await executeFhirGraphql('{ nonsense', { store, caller, audit });
    expect(
      records.map(({ interaction, targets, storeCalls, outcome }) => [interaction, targets, storeCalls, outcome]),
    ).toEqual([
      ['graphql', [{ type: 'Patient' }, { type: 'Observation' }], 2, { success: true }],
      ['graphql', [{ type: 'Patient' }], 1, { success: false, code: 'not-found' }],
      ['graphql', [], 0, { success: false, code: 'invalid' }],
    ]);
  });

  test('names nobody for an invalid caller', async () => {
    const { store, records } = await watched();
    const caller = { kind: 'member', project: 'clinic', profile: 'Practitioner/forged' } as never;
    await executeFhirGraphql('{ PatientList { id } }', { store, caller, audit: (record) => void records.push(record) });
    expect(records[0]).toMatchObject({
      who: { kind: 'unknown' },
      outcome: { success: false, code: 'unauthenticated' },
    });
  });

  test('has no clinical content, for any request and any outcome', async () => {
    const all = await watched();
    await everything(all);
    expect(all.records).toHaveLength(25);
    expect(new Set(all.records.map(({ outcome }) => outcome.success))).toEqual(new Set([true, false]));
    const text = JSON.stringify([all.records, all.records.map(toAuditEvent)]).toLowerCase();
    // References to people and places of the trail itself are not content.
    for (const value of [...valuesIn(PATIENT), 'topsecret', '1999-09-09', 'mrn-nothing']) {
      if (['Patient', 'p1'].includes(value)) continue;
      expect(text).not.toContain(value.toLowerCase());
    }
  });
});

function valuesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesIn) : [];
}

describe('a hook', () => {
  afterEach(() => void vi.restoreAllMocks());

  test.each<[string, () => void | Promise<void>]>([
    [
      'that throws',
      () => {
        throw new Error('trail down');
      },
    ],
    ['that rejects', () => Promise.reject(new Error('trail down'))],
    ['that never ends', () => new Promise(() => undefined)],
    ['that returns no promise', () => 1 as never],
    [
      'that returns a promise of another library',
      () => ({ then: (_: unknown, fail: (e: Error) => void) => fail(new Error('down')) }) as never,
    ],
  ])('%s fails no interaction', async (name, audit) => {
    const warnings = await warningsOf(async () => {
      const store = new MemoryStore();
      const repository = await system(store, 'clinic', { audit });
      const { id } = await repository.create({ resourceType: 'Patient' });
      expect(await repository.read('Patient', id)).toMatchObject({ id });
      expect(await codeOf(repository.read('Patient', 'absent'))).toBe('not-found');
      const { data } = await executeFhirGraphql('{ PatientList { id } }', {
        store,
        caller: systemCaller('clinic'),
        audit,
      });
      expect(data).toEqual({ PatientList: [{ id }] });
    });
    const isHealthy = name === 'that never ends' || name === 'that returns no promise';
    expect(warnings.map(({ code }) => code)).toEqual(
      Array.from({ length: isHealthy ? 0 : 4 }, () => 'FHIRGRAPH_AUDIT'),
    );
  });
});

describe('an AuditEvent', () => {
  test('is valid R4 for every record', async () => {
    const all = await watched();
    await everything(all);
    const system = repositoryOf(all.store, systemCaller('clinic'), {
      audit: (record) => void all.records.push(record),
    });
    await system.search('Patient');
    for (const record of all.records) {
      expect(validateResource(R4, toAuditEvent(record), { strict: true })).toEqual([]);
    }
  });

  test('has the same data as its record', () => {
    const event = toAuditEvent({
      interaction: 'search',
      who: {
        kind: 'member',
        project: 'clinic',
        membership: 'ProjectMembership/m',
        user: 'User/u',
        profile: 'Practitioner/a',
      },
      targets: [{ type: 'Patient' }],
      parameters: ['family', '_sort'],
      results: 3,
      outcome: { success: true },
      started: '2026-01-02T03:04:05.006Z',
      duration: 12.5,
    });
    expect(event).toMatchObject({
      type: { code: 'rest' },
      subtype: [{ system: 'http://hl7.org/fhir/restful-interaction', code: 'search-type' }],
      action: 'E',
      outcome: '0',
      recorded: '2026-01-02T03:04:05.019Z',
      agent: [{ who: { reference: 'Practitioner/a' }, altId: 'User/u', requestor: true }],
      source: { observer: { identifier: { system: 'https://fhirgraph.org/fhir/project', value: 'clinic' } } },
      entity: [
        {
          detail: [
            { type: 'membership', valueString: 'ProjectMembership/m' },
            { type: 'types', valueString: 'Patient' },
            { type: 'parameters', valueString: 'family,_sort' },
            { type: 'results', valueString: '3' },
          ],
        },
      ],
    });
  });

  test.each([
    ['create', 'C', 'create'],
    ['read', 'R', 'read'],
    ['vread', 'R', 'vread'],
    ['history', 'R', 'history-instance'],
    ['update', 'U', 'update'],
    ['patch', 'U', 'patch'],
    ['delete', 'D', 'delete'],
    ['transaction', 'E', 'transaction'],
    ['graphql', 'E', 'operation'],
    ['invite', 'E', 'operation'],
  ] as const)('of %s has action %s and subtype %s', (interaction, action, code) => {
    const event = toAuditEvent(record({ interaction, targets: [{ type: 'Patient', id: '1', versionId: '2' }] }));
    expect(event).toMatchObject({
      action,
      subtype: [{ code }],
      entity: [{ what: { reference: 'Patient/1/_history/2' } }],
    });
  });

  test('of the history of a type has subtype history-type', () => {
    const event = toAuditEvent(record({ interaction: 'history', targets: [{ type: 'Patient' }] }));
    expect(event).toMatchObject({ action: 'R', subtype: [{ code: 'history-type' }] });
  });

  test('of the history of all types has subtype history-system', () => {
    const event = toAuditEvent(record({ interaction: 'history', targets: [] }));
    expect(event).toMatchObject({ action: 'R', subtype: [{ code: 'history-system' }] });
  });

  test('distinguishes errors of the caller from errors of the service', () => {
    const outcomeOf = (code: FhirError['code']): unknown[] => {
      const { outcome, outcomeDesc } = toAuditEvent(record({ outcome: { success: false, code } }));
      return [outcome, outcomeDesc];
    };
    expect(outcomeOf('forbidden')).toEqual(['4', 'forbidden']);
    expect(outcomeOf('unavailable')).toEqual(['8', 'unavailable']);
  });

  test('describes programs, which R4 has no reference for, in words', () => {
    const who = {
      kind: 'member',
      project: 'p',
      membership: 'ProjectMembership/m',
      user: 'Bot/b',
      profile: 'Bot/b',
    } as const;
    const event = toAuditEvent(record({ who }));
    expect(event.agent[0]).toMatchObject({ who: { display: 'Bot/b' }, altId: 'Bot/b' });
    expect(validateResource(R4, event, { strict: true })).toEqual([]);
  });
});

function record(more: Partial<AuditRecord>): AuditRecord {
  return {
    interaction: 'read',
    who: { kind: 'system', project: 'clinic' },
    targets: [],
    outcome: { success: true },
    started: '2026-01-02T03:04:05.006Z',
    duration: 1,
    ...more,
  };
}
