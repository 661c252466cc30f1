import { expect, test } from 'vitest';
import { type AuditRecord, executeFhirGraphql, MemoryStore, toAuditEvent } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { parse, print } from '../../src/graphql/graphql-js.js';
import { sha256Of } from '../../src/platform/crypto.js';
import { signedIn, system } from '../repository/harness.js';
import { caller, openClinic, type Sample } from './harness.js';

const ann = { reference: 'Patient/ann' };
const RESOURCES: readonly Sample[] = [
  { resourceType: 'Organization', id: 'north', name: 'North' },
  { resourceType: 'Patient', id: 'ann', managingOrganization: { reference: 'Organization/north' } },
  { resourceType: 'Patient', id: 'bob', managingOrganization: { reference: 'Organization/gone' } },
  { resourceType: 'Observation', id: 'o1', status: 'final', code: { text: 'x' }, subject: ann },
  { resourceType: 'Observation', id: 'o2', status: 'final', code: { text: 'y' }, subject: ann },
];

/** The record of a query, with names in place of versions. */
async function recordOf(query: string, more: object = {}, resources = RESOURCES): Promise<AuditRecord> {
  const records: AuditRecord[] = [];
  const { ask } = await openClinic(resources);
  await ask(query, undefined, { audit: (record) => void records.push(record), ...more });
  expect(records).toHaveLength(1);
  expect(validateResource(R4, toAuditEvent(records[0]!))).toEqual([]);
  return records[0]!;
}

function shownIn({ returned, patients, counts }: AuditRecord): object {
  return {
    returned: returned?.resources.map(({ type, id, versionId }) => `${type}/${id}/${versionId}`),
    total: returned?.total,
    patients: patients?.ids,
    counts,
  };
}

test('a record names the resources that roots, lists, references and reverse references show, once each', async () => {
  const query = `{
    Patient(id: "ann") { managingOrganization { resource { ... on Organization { name } } }
      ObservationList(_reference: subject) { status } }
    again: PatientList(_id: "ann") { gender }
    ObservationList { subject { resource { ... on Patient { gender } } } } }`;
  expect(shownIn(await recordOf(query))).toEqual({
    returned: ['Patient/ann/1', 'Observation/o1/1', 'Observation/o2/1', 'Organization/north/1'],
    total: 4,
    patients: ['ann'],
    counts: undefined,
  });
});

test('a record has the counts of connections, and no resource for a count', async () => {
  const query = `{ ObservationConnection { count } one: ObservationConnection(_count: 1) { edges { mode } }
    PatientList(_id: "ann") { ObservationConnection(_reference: subject) { count } } }`;
  expect(shownIn(await recordOf(query))).toEqual({
    returned: ['Patient/ann/1'],
    total: 1,
    patients: ['ann'],
    counts: [{ type: 'Observation', count: 5 }],
  });
});

test('an unresolved reference, and a failed request, show nothing', async () => {
  const broken = '{ Patient(id: "bob") { managingOrganization { resource { ... on Organization { name } } } } }';
  expect(shownIn(await recordOf(broken))).toMatchObject({ returned: ['Patient/bob/1'] });
  expect(shownIn(await recordOf(broken, { dialect: 'hl7' }))).toMatchObject({
    returned: undefined,
    patients: undefined,
  });
  expect(shownIn(await recordOf('{ PatientList { id } }', { limits: { rows: 1 } }))).toMatchObject({
    returned: undefined,
  });
  expect(shownIn(await recordOf('{ Patient(id: "eve") { id } }'))).toMatchObject({ returned: undefined });
});

test('the patients are those of the stored resource, whichever elements are hidden from the caller', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  for (const resource of RESOURCES) await trusted.update(resource as never);
  const member = await signedIn(store, {
    rules: [{ resourceType: 'Observation', hiddenFields: ['subject', 'meta'], readonly: true }],
  });
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  const { data } = await executeFhirGraphql('{ Observation(id: "o1") { meta { versionId } subject { reference } } }', {
    store,
    caller: member,
    audit,
  });
  expect(data).toEqual({ Observation: { meta: null, subject: null } });
  expect(shownIn(records[0]!)).toMatchObject({ returned: ['Observation/o1/1'], patients: ['ann'] });
  await executeFhirGraphql('{ PatientList { id } Observation(id: "o9") { id } }', { store, caller: member, audit });
  expect(shownIn(records[1]!)).toMatchObject({ returned: undefined, patients: undefined });
});

test('a mutation names the patients of written, replaced and deleted resources', async () => {
  const put = `mutation { ObservationUpdate(id: "o1", res: { resourceType: "Observation", id: "o1", status: final,
    code: { text: "x" }, subject: { reference: "Patient/bob" } }) { id } }`;
  expect(shownIn(await recordOf(put))).toMatchObject({ returned: ['Observation/o1/2'], patients: ['bob', 'ann'] });
  const deletion = 'mutation { ObservationDelete(id: "o2") { id } }';
  expect(shownIn(await recordOf(deletion))).toMatchObject({ returned: undefined, patients: ['ann'] });
});

test('references to older versions, and contained resources, are named by the stored resource', async () => {
  const versioned = { reference: 'Patient/ann/_history/1' };
  const contained = [{ resourceType: 'Practitioner', id: 'inner', gender: 'male' }];
  const resources: readonly Sample[] = [
    ...RESOURCES,
    { resourceType: 'Patient', id: 'ann', gender: 'female' },
    {
      ...{ resourceType: 'Observation', id: 'o3', status: 'final', code: { text: 'z' }, subject: versioned },
      ...{ contained, performer: [{ reference: '#inner' }] },
    },
  ];
  const query = `{ Observation(id: "o3") { subject { resource { ... on Patient { gender } } }
    performer { resource { ... on Practitioner { id gender } } } contained { ... on Practitioner { id } } } }`;
  expect(shownIn(await recordOf(query, {}, resources))).toMatchObject({
    returned: ['Observation/o3/1', 'Patient/ann/1'],
    patients: ['ann'],
  });
});

test('a resource that the host resolves elsewhere is not a resource of this service', async () => {
  const resources = [{ resourceType: 'Encounter', id: 'e', subject: { reference: 'https://other.example/Patient/x' } }];
  const resolveReference = (): Promise<never> => Promise.resolve({ resourceType: 'Patient', id: 'x' } as never);
  const query = '{ EncounterList { subject { resource { ... on Patient { id } } } } }';
  expect(shownIn(await recordOf(query, { resolveReference }, resources))).toMatchObject({
    returned: ['Encounter/e/1'],
    patients: undefined,
  });
});

test('a record has the hash of the document, executed or refused', async () => {
  const text = '{ PatientList { id } }';
  expect((await recordOf(text)).document).toBe(sha256Of(text));
  expect((await recordOf(parse(text) as never)).document).toBe(sha256Of(print(parse(text))));
  expect((await recordOf('{ Broken')).document).toBe(sha256Of('{ Broken'));
});

test('a record names the first 1,000 resources and patients, and their total number', async () => {
  const patients = Array.from({ length: 1200 }, (_, index): Sample => ({ resourceType: 'Patient', id: `p${index}` }));
  const { returned, patients: touched } = await recordOf(
    '{ PatientList(_count: 1100) { id } }',
    { limits: { listSize: 2000, rows: 5000, cost: 1e6 } },
    patients,
  );
  expect([returned?.total, returned?.resources.length, touched?.total, touched?.ids.length]).toEqual([
    1100, 1000, 1100, 1000,
  ]);
});

test('without an audit hook nothing is recorded', async () => {
  const { store } = await openClinic(RESOURCES);
  const result = await executeFhirGraphql('{ PatientList { id } }', { store, caller });
  expect(result).toEqual({ data: { PatientList: [{ id: 'ann' }, { id: 'bob' }] } });
});
