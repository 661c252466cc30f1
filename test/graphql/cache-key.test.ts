import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Patient } from '@medplum/fhirtypes';
import {
  type AnyResource,
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  printFhirSchema,
} from '../../src/index.js';
import { sparingStore } from '../support/sparing-store.js';
import { signedIn, system } from '../repository/harness.js';
import { cases, SEED } from '../support/chance.js';
import { caller, failures, openClinic, put, type Sample } from './harness.js';

const MEDICATION = { resourceType: 'Medication', id: 'med', code: { text: 'A' } };
const REQUEST: Sample = {
  resourceType: 'MedicationRequest',
  id: 'm',
  meta: { versionId: '3' },
  contained: [MEDICATION, { resourceType: 'Patient', id: 'med' }, { resourceType: 'Basic' }, { ...MEDICATION, id: 'a b' }],
  medicationReference: { reference: '#med' },
}; // prettier-ignore

describe('the cache key', () => {
  test('of stored resources is their type and id, on every path', async () => {
    const clinic = await openClinic([
      { resourceType: 'Patient', id: 'p', generalPractitioner: [{ reference: 'Practitioner/d' }] },
      { resourceType: 'Practitioner', id: 'd' },
      { resourceType: 'Observation', id: 'o', subject: { reference: 'Patient/p' } },
    ]);
    const query = `{
      Patient(id: "p") { cache_key generalPractitioner { resource { cache_key } } ObservationList(_reference: subject) { cache_key } }
      PatientConnection { edges { resource { key: cache_key } } }
    }`;
    expect(await clinic.data(query)).toEqual({
      Patient: {
        cache_key: 'Patient/p',
        generalPractitioner: [{ resource: { cache_key: 'Practitioner/d' } }],
        ObservationList: [{ cache_key: 'Observation/o' }],
      },
      PatientConnection: { edges: [{ resource: { key: 'Patient/p' } }] },
    });
    expect(await clinic.data('{ cache_key }', {}, { focus: 'Patient/p' })).toEqual({ cache_key: 'Patient/p' });
  });

  test('of contained resources has the version of their container, and the position if the id is not enough', async () => {
    const clinic = await openClinic([REQUEST]);
    const version = (await clinic.data('{ MedicationRequest(id: "m") { meta { versionId } } }')) as {
      MedicationRequest: { meta: { versionId: string } };
    };
    const base = `MedicationRequest/m/_history/${version.MedicationRequest.meta.versionId}`;
    const query =
      '{ MedicationRequest(id: "m") { contained { cache_key } medicationReference { resource { cache_key } } } }';
    expect(await clinic.data(query)).toEqual({
      MedicationRequest: {
        contained: [
          { cache_key: `${base}#med` },
          { cache_key: `${base}#contained[1]` },
          { cache_key: `${base}#contained[2]` },
          { cache_key: `${base}#contained[3]` },
        ],
        medicationReference: { resource: { cache_key: `${base}#med` } },
      },
    });
  });

  test('of a contained resource changes with the version, because its id can then belong to another resource', async () => {
    const clinic = await openClinic([REQUEST]);
    const query = '{ MedicationRequest(id: "m") { cache_key contained { cache_key } } }';
    const before = JSON.stringify(await clinic.data(query));
    expect(JSON.stringify(await clinic.data(query))).toBe(before);
    await put(clinic.store, [{ ...REQUEST, contained: [{ ...MEDICATION, code: { text: 'B' } }] }]);
    const after = JSON.parse(JSON.stringify(await clinic.data(query))) as { MedicationRequest: Sample };
    expect(after.MedicationRequest['cache_key']).toBe('MedicationRequest/m');
    expect(before).not.toContain(JSON.stringify(after.MedicationRequest['contained']).slice(2, -2));
  });

  test('of an old version behind a reference differs from that of the current resource', async () => {
    const store = sparingStore(new MemoryStore());
    const repository = createRepository({ store, caller });
    const patient = await repository.create({
      resourceType: 'Patient',
      contained: [{ resourceType: 'Basic', id: 'b' }],
    } as Patient);
    const id = patient.id;
    const reference = (text: string) => ({ subject: { reference: text } });
    await put(store, [
      { resourceType: 'Observation', id: '1', ...reference(`Patient/${id}/_history/${patient.meta.versionId}`) },
      { resourceType: 'Observation', id: '2', ...reference(`Patient/${id}`) },
    ]);
    const query =
      '{ ObservationList(_sort: "_id") { subject { resource { cache_key ... on Patient { contained { cache_key } } } } } }';
    const { data } = await executeFhirGraphql(query, { store, caller });
    const key = `Patient/${id}`;
    const version = `${key}/_history/${patient.meta.versionId}`;
    const contained = [{ cache_key: `${version}#b` }];
    expect(data).toEqual({
      ObservationList: [
        { subject: { resource: { cache_key: version, contained } } },
        { subject: { resource: { cache_key: key, contained } } },
      ],
    });
  });

  test('of entries of a Bundle differs from that of the stored resource', async () => {
    const clinic = await openClinic([
      { resourceType: 'Patient', id: 'p' },
      {
        resourceType: 'Bundle',
        id: 'b',
        type: 'collection',
        entry: [
          {
            fullUrl: 'urn:uuid:1',
            resource: { resourceType: 'Patient', id: 'p', contained: [{ resourceType: 'Basic', id: 'x' }] },
          },
          { resource: { resourceType: 'Patient', id: 'p' } },
        ],
      },
    ]);
    const query =
      '{ Bundle(id: "b") { meta { versionId } entry { resource { cache_key ... on Patient { contained { cache_key } } } } } }';
    const { Bundle: bundle } = (await clinic.data(query)) as {
      Bundle: { meta: { versionId: string }; entry: unknown };
    };
    const base = `Bundle/b/_history/${bundle.meta.versionId}`;
    expect(bundle.entry).toEqual([
      {
        resource: {
          cache_key: `${base}#entry[0].resource`,
          contained: [{ cache_key: `${base}#entry[0].resource.contained[0]` }],
        },
      },
      { resource: { cache_key: `${base}#entry[1].resource`, contained: null } },
    ]);
  });

  test('of resources from outside is their source; that of their contained resources exists only with a version', async () => {
    const clinic = await openClinic([
      {
        resourceType: 'Observation',
        id: 'o',
        performer: ['1', '2'].map((id) => ({ reference: `https://other.example/Patient/${id}` })),
      },
    ]);
    const contained = [{ resourceType: 'Basic', id: 'b' }];
    const resolveReference = (url: string): Promise<AnyResource> =>
      Promise.resolve({
        resourceType: 'Patient',
        id: 'p',
        contained,
        ...(url.endsWith('1') ? { meta: { versionId: '7' } } : {}),
      } as AnyResource);
    const query =
      '{ Observation(id: "o") { performer { resource { cache_key ... on Patient { contained { cache_key } } } } } }';
    const base = 'https://other.example/Patient/';
    expect(await clinic.data(query, {}, { resolveReference })).toEqual({
      Observation: {
        performer: [
          { resource: { cache_key: `${base}1`, contained: [{ cache_key: `${base}1/_history/7#b` }] } },
          { resource: { cache_key: `${base}2`, contained: [{ cache_key: null }] } },
        ],
      },
    });
  });

  test.each([
    ['meta', { cache_key: 'MedicationRequest/m', contained: [{ id: 'med', cache_key: null }] }],
    ['contained', { cache_key: 'MedicationRequest/m', contained: null }],
  ])('reveals nothing of a hidden %s', async (hidden, shown) => {
    const store = sparingStore(new MemoryStore());
    await system(store);
    const member = await signedIn(store, { rules: [{ resourceType: 'MedicationRequest', hiddenFields: [hidden] }] });
    const resource = { ...REQUEST, contained: [MEDICATION] };
    await store.commit([
      { kind: 'put', key: { project: member.project, type: 'MedicationRequest', id: 'm' }, resource },
    ]);
    const query = '{ MedicationRequestList { cache_key contained { cache_key ... on Medication { id } } } }';
    const result = await executeFhirGraphql(query, { store, caller: member });
    expect(result.data).toEqual({ MedicationRequestList: [shown] });
  });

  test('is omitted in dialect hl7 if it does not exist', async () => {
    const clinic = await openClinic([REQUEST]);
    const { MedicationRequest: found } = (await clinic.data(
      '{ MedicationRequest(id: "m") { cache_key } }',
      {},
      { dialect: 'hl7' },
    )) as { MedicationRequest: object };
    expect(found).toEqual({ cache_key: 'MedicationRequest/m' });
  });

  test('is a field of every resource type of the schema, and of nothing else', async () => {
    const clinic = await openClinic([]);
    const sdl = printFhirSchema({ types: ['Patient', 'Bundle'] });
    // Both, the types that Bundles lead to (OperationOutcome), and the interface.
    expect(sdl.match(/^ {2}cache_key: ID$/gm)).toHaveLength(4);
    const { __type } = (await clinic.data('{ __type(name: "Resource") { fields { name type { name } } } }')) as {
      __type: { fields: unknown };
    };
    expect(__type.fields).toContainEqual({ name: 'cache_key', type: { name: 'ID' } });
    for (const query of [
      '{ PatientList { name { cache_key } } }',
      'mutation { PatientCreate(res: { cache_key: "x" }) { id } }',
    ]) {
      expect(failures(await clinic.ask(query))).toHaveLength(1);
    }
  });
});

const inner = fc.record({
  resourceType: fc.constantFrom('Medication', 'Basic', 'Patient'),
  id: fc.constantFrom('a', 'b', 'a b', undefined),
});

test('no two resources of any answers share a key', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        fc.tuple(
          fc.constantFrom('MedicationRequest', 'Bundle', 'Patient'),
          fc.constantFrom('a', 'b'),
          fc.array(inner, { maxLength: 4 }),
        ),
        {
          selector: ([type, id]) => `${type}/${id}`,
        },
      ),
      async (containers) => {
        const clinic = await openClinic(
          containers.map(([resourceType, id, inside]) =>
            resourceType === 'Bundle'
              ? { resourceType, id, entry: inside.map((resource) => ({ resource })) }
              : { resourceType, id, contained: inside },
          ),
        );
        const inQuery = '{ cache_key contained { cache_key } }';
        const query = `{ MedicationRequestList ${inQuery} PatientList ${inQuery} BundleList { cache_key entry { resource { cache_key } } } }`;
        const text = JSON.stringify(await clinic.data(query));
        const keys = text.match(/(?<="cache_key":)("[^"]+"|null)/g) ?? [];
        expect(keys).toHaveLength(containers.reduce((sum, [, , inside]) => sum + 1 + inside.length, 0));
        expect(keys).not.toContain('null');
        expect(new Set(keys).size).toBe(keys.length);
        expect(JSON.stringify(await clinic.data(query))).toBe(text);
      },
    ),
    { seed: SEED, numRuns: cases(60, 40) },
  );
});
