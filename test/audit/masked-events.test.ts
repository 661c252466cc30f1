import { beforeAll, describe, expect, test } from 'vitest';
import {
  AUDIT_LOG_PROJECT,
  type Caller,
  createAuditLog,
  createRepository,
  executeFhirGraphql,
  exportProject,
  MemoryStore,
  searchAuditLog,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { signedIn, system } from '../repository/harness.js';

/** A ward where a nurse lists all patients, in every way that names them. */
const store = new MemoryStore();
const ref = (reference: string): object => ({ reference });
let ann: Caller;

beforeAll(async () => {
  const trusted = await system(store);
  for (const id of ['ann', 'bob', 'cal']) {
    await trusted.update({ resourceType: 'Patient', id, active: id !== 'cal' } as never);
    await trusted.update({ resourceType: 'Observation', id: `of-${id}`, status: 'final', code: { text: 'x' }, subject: ref(`Patient/${id}`) } as never);
  }
  const log = createAuditLog({ store, gather: 0 });
  const { audit } = log;
  const nurse = await signedIn(store, { profile: { resourceType: 'Practitioner', id: 'nurse' } });
  const context = { store, caller: nurse, audit, requireAudit: true };
  const repository = createRepository(context);
  await executeFhirGraphql('{ PatientList { id } }', context);
  await repository.search('Observation', '_include=Observation:subject');
  await repository.search('Patient');
  await repository.read('Patient', 'ann');
  await repository.typeHistory('Patient', {});
  await repository.transaction({ resourceType: 'Bundle', type: 'transaction', entry: ['ann', 'bob'].map((id) => ({ request: { method: 'GET', url: `Patient/${id}` } })) } as never);
  for await (const line of exportProject('clinic', { store, caller: serverCaller(), audit })) void line;
  await log.close();
  ann = await signedIn(store, { profile: { resourceType: 'Patient', id: 'ann' } });
  await trusted.update({ resourceType: 'Patient', id: 'ann', active: true });
  // Events about the reading of events name events.
  await searchAuditLog('', { store, caller: ann, audit: createAuditLog({ store, gather: 0 }).audit, requireAudit: true });
}); // prettier-ignore

async function events(caller: Caller, query = ''): Promise<readonly object[]> {
  const { entry = [] } = await searchAuditLog(query, { store, caller });
  return entry.flatMap(({ resource }) => (resource?.resourceType === 'AuditEvent' ? [resource] : []));
}

describe('who saw my record', () => {
  test('names no other patient, and nothing of another patient', async () => {
    const shown = await events(ann);
    expect(shown.length).toBeGreaterThanOrEqual(6);
    expect(JSON.stringify(shown)).not.toMatch(/bob|cal\b|of-cal/);
    for (const event of shown) {
      expect(JSON.stringify(event)).toMatch(/Patient\/ann/);
      expect(event).toMatchObject({ agent: [expect.objectContaining({ requestor: true }) as object] });
    }
    const ofNurse = JSON.stringify(shown.filter((event) => JSON.stringify(event).includes('Practitioner/nurse')));
    expect(ofNurse).toContain('of-ann/');
  });

  test('is not found by the names of others', async () => {
    expect((await events(ann, 'patient=Patient/ann')).length).toBeGreaterThanOrEqual(6);
    for (const query of ['patient=Patient/bob', 'patient=bob', 'entity=Patient/bob', 'entity=bob', '_filter=patient eq Patient/bob']) {
      expect(await events(ann, query), query).toEqual([]);
    }
    const all = await events(ann);
    expect(await events(ann, 'patient:not=Patient/bob')).toHaveLength(all.length);
    expect(await events(ann, 'agent=Practitioner/nurse')).toHaveLength(6);
    expect(await events(ann, 'agent=Patient/bob')).toEqual([]);
  }); // prettier-ignore

  test('names all patients to those who may read them', async () => {
    const doctor = await signedIn(store, { profile: { resourceType: 'Practitioner', id: 'dr' } });
    for (const caller of [doctor, systemCaller('clinic'), serverCaller(AUDIT_LOG_PROJECT)]) {
      const text = JSON.stringify(await events(caller));
      for (const id of ['ann', 'bob', 'cal']) expect(text).toContain(`Patient/${id}`);
    }
  });

  test('names those patients that a policy grants, also to officers', async () => {
    const rules = [{ resourceType: 'AuditEvent', readonly: true }, { resourceType: 'Patient', criteria: 'Patient?active=true', readonly: true }];
    const officer = await signedIn(store, { rules: rules });
    const text = JSON.stringify(await events(officer));
    expect(text).toContain('Patient/ann');
    expect(text).toContain('Patient/bob');
    expect(text).not.toMatch(/Patient\/cal|of-/);
  }); // prettier-ignore
});

describe('AuditEvents of a project', () => {
  const event = (more: object): object => ({
    ...{ resourceType: 'AuditEvent', id: 'e', recorded: '2024-01-01T00:00:00Z', source: { observer: { display: 'x' } } },
    ...{ type: { code: 'rest' }, agent: [{ requestor: true, who: ref('Patient/bob'), altId: 'bob-user', name: 'Bob' }] },
    ...more,
  }); // prettier-ignore

  test('are masked on every path: read, search, GraphQL, histories', async () => {
    const trusted = await system(store);
    const entity = [
      { what: ref('Patient/ann') },
      { what: ref('Patient/bob/_history/1'), name: 'Bob' },
      { what: { type: 'Patient', display: 'Bob Smith' } },
      { what: ref('https://elsewhere.example/Patient/x') },
    ];
    await trusted.update(event({ entity, text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">bob</div>' } }) as never);
    const repository = createRepository({ store, caller: ann });
    const shown = await repository.read('AuditEvent', 'e');
    expect(shown).toMatchObject({
      agent: [{ requestor: true }],
      entity: [{ what: ref('Patient/ann') }, { what: ref('https://elsewhere.example/Patient/x') }],
    });
    const graphql = await executeFhirGraphql(
      '{ AuditEventList { agent { altId name who { reference } } entity { name what { reference display } } } Patient(id: "ann") { AuditEventList(_reference: patient) { entity { what { reference } } } } }',
      { store, caller: ann },
    );
    const answers = [
      shown,
      await repository.search('AuditEvent'),
      await repository.history('AuditEvent', 'e'),
      await repository.typeHistory('AuditEvent', {}),
      graphql,
    ];
    for (const answer of answers) {
      const text = JSON.stringify(answer);
      expect(text).toContain('Patient/ann');
      expect(text).not.toMatch(/bob/i);
    }
  }); // prettier-ignore

  test('hide people under care as observers, in searches, and where they are named without a reference', async () => {
    const trusted = await system(store);
    const entity = [
      { what: ref('Patient/ann') },
      { query: 'UGF0aWVudD9uYW1lPWJvYg==' },
      { what: { identifier: { value: 'MRN-bob' } } },
      { what: { display: 'bob' } },
      { name: 'bob' },
      { what: { display: 'Printer' }, type: { code: '2' } },
    ];
    const source = { observer: ref('Patient/bob'), site: 'ward' };
    const agent = [{ requestor: true, who: { type: 'Patient', display: 'bob' }, altId: 'bob-user' }];
    await trusted.update(event({ id: 'f', source, agent, entity }) as never);
    const shown = await createRepository({ store, caller: ann }).read('AuditEvent', 'f');
    expect(shown).toMatchObject({
      ...{ source: { site: 'ward' }, agent: [{ requestor: true }] },
      entity: [{ what: ref('Patient/ann') }, { what: { display: 'Printer' }, type: { code: '2' } }],
    });
    expect(JSON.stringify(shown)).not.toMatch(/bob/i);
  });

  test('are not found by the names of people who are hidden', async () => {
    const trusted = await system(store);
    const nurse = [{ requestor: true, who: ref('Practitioner/nurse'), altId: 'nurse-user', name: 'Nurse' }];
    await trusted.update(event({ id: 'n', agent: nurse, entity: [{ what: ref('Patient/ann') }] }) as never);
    await trusted.update(event({ id: 'o', source: { observer: ref('Patient/bob') }, agent: nurse, entity: [{ what: ref('Patient/ann') }] }) as never);
    const repository = createRepository({ store, caller: ann });
    const found = async (query: string): Promise<unknown> =>
      (await repository.search('AuditEvent', `${query}&_id=e,n,o&_sort=_id`)).entry?.map(({ resource }) => resource?.id) ?? [];
    for (const query of ['altid=bob-user', 'agent-name=bob', 'agent-name:contains=ob', '_filter=agent-name eq "bob"', 'source=Patient/bob']) {
      expect(await found(query), query).toEqual([]);
    }
    // What would find others finds all of them.
    for (const query of ['altid:not=bob-user', '_filter=agent ne Patient/bob', '_filter=not (agent-name eq "bob")', '_filter=source ne Patient/nobody']) {
      expect(await found(query), query).toEqual(query.includes('source') ? ['o'] : ['e', 'n', 'o']);
    }
    expect(await found('altid=nurse-user')).toEqual(['n', 'o']);
    expect(await found('agent-name=nurse')).toEqual(['n', 'o']);
    const { data } = await executeFhirGraphql('{ Patient(id: "ann") { AuditEventList(_reference: patient, _id: "e", altid: "bob-user") { id } } }', { store, caller: ann });
    expect(data).toEqual({ Patient: { AuditEventList: [] } });
    const all = createRepository({ store, caller: systemCaller('clinic') });
    expect((await all.search('AuditEvent', 'altid=bob-user&_id=e')).entry).toHaveLength(1);
  }); // prettier-ignore
});
