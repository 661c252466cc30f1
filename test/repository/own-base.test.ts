import type { Observation, Patient, Resource } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { systemCaller, type Caller } from '../../src/access/caller.js';
import { executeFhirGraphql } from '../../src/graphql/execute-fhir-graphql.js';
import { createRepository } from '../../src/repository/create-repository.js';
import type { ResourceStore } from '../../src/store/store.js';
import { codeOf, overStores, repositoryOf, signedIn, system } from './harness.js';

const BASE = 'https://own.base/fhir';

function about(id: string, reference: string, encounter?: string): Observation {
  return {
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text: 'x' },
    subject: { reference },
    ...(encounter === undefined ? {} : { encounter: { reference: encounter } }),
  };
}

const ann: Patient = {
  resourceType: 'Patient',
  id: 'ann',
  name: [{ family: 'Hill' }],
  managingOrganization: { reference: `${BASE}/Organization/north` },
};
const RESOURCES: readonly Resource[] = [
  { resourceType: 'Organization', id: 'north', name: 'North' },
  ann,
  { resourceType: 'Patient', id: 'bob', name: [{ family: 'Dale' }] },
  {
    resourceType: 'Encounter',
    id: 'visit',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/ann' },
  },
  about('absolute', `${BASE}/Patient/ann`, `${BASE}/Encounter/visit`),
  about('bob', `${BASE}/Patient/bob`),
  about('elsewhere', 'https://elsewhere.org/fhir/Patient/ann'),
  about('longer', `${BASE}/Patient/ann-2`),
  about('relative', 'Patient/ann', 'Encounter/visit'),
  about('versioned', `${BASE}/Patient/ann/_history/1`),
];

async function filled(store: ResourceStore): Promise<ResourceStore> {
  const trusted = await system(store);
  for (const resource of RESOURCES) await trusted.update(resource);
  return store;
}

overStores('stored absolute references below the own base', (open) => {
  const ofAnn = ['absolute', 'relative', 'versioned'];

  test.each<[string, string, readonly string[]]>([
    ['Observation', 'subject=Patient/ann', ofAnn],
    ['Observation', `subject=${BASE}/Patient/ann`, ofAnn],
    ['Observation', `subject=${BASE}/Patient/ann/_history/1`, ofAnn],
    ['Observation', 'subject=ann', ofAnn],
    ['Observation', 'patient=ann', ofAnn],
    ['Observation', 'subject:Patient=ann', ofAnn],
    ['Observation', 'subject=Patient/ann,Patient/bob', ['absolute', 'bob', 'relative', 'versioned']],
    ['Observation', 'subject:not=Patient/ann', ['bob', 'elsewhere', 'longer']],
    ['Observation', '_filter=subject re Patient/ann', ofAnn],
    ['Observation', '_filter=subject ne Patient/ann', ['bob', 'elsewhere', 'longer']],
    ['Observation', 'subject=https://elsewhere.org/fhir/Patient/ann', ['elsewhere']],
    ['Observation', 'subject:Patient.family=hill', ofAnn],
    ['Observation', 'subject:Patient.organization.name=north', ofAnn],
    ['Observation', 'subject:Patient.organization=Organization/north', ofAnn],
    ['Observation', 'encounter.patient.family=hill', ['absolute', 'relative']],
    ['Observation', 'subject:Patient._has:Encounter:patient:status=finished', ofAnn],
    ['Patient', '_has:Observation:patient:status=final', ['ann', 'bob']],
    ['Patient', `_has:Observation:patient:encounter=${BASE}/Encounter/visit`, ['ann']],
    ['Patient', 'organization=north', ['ann']],
    ['Organization', '_has:Patient:organization:_has:Observation:patient:_id=versioned', ['north']],
  ])('are found by %s?%s', async (type, query, ids) => {
    const repository = createRepository({
      store: await filled(open()),
      caller: systemCaller('clinic'),
      baseUrl: `${BASE}/`,
    });
    const { entry = [], total } = await repository.search(type as 'Patient', `${query}&_total=accurate`);
    expect([entry.map(({ resource }) => resource!.id), total]).toEqual([ids, ids.length]);
  });

  test('are ordered by their relative form', async () => {
    const repository = createRepository({ store: await filled(open()), caller: systemCaller('clinic'), baseUrl: BASE });
    const { entry = [] } = await repository.search('Observation', '_sort=subject');
    expect(entry.map(({ resource }) => resource!.id)).toEqual([...ofAnn, 'longer', 'bob', 'elsewhere']);
  });

  test('resolve in GraphQL, in reverse lists too', async () => {
    const store = await filled(open());
    const query = `{
      PatientList(_sort: "_id") {
        id ObservationList(_reference: patient, _sort: "_id") { id subject { resource { ... on Patient { id } } } }
        ObservationConnection(_reference: subject) { count }
      }
      ObservationList(patient: "ann") { id }
    }`;
    const context = { store, caller: systemCaller('clinic') };
    const observation = (id: string): object => ({ id, subject: { resource: { id: 'ann' } } });
    expect(await executeFhirGraphql(query, { ...context, baseUrl: BASE })).toEqual({
      data: {
        PatientList: [
          {
            id: 'ann',
            ObservationList: ofAnn.map(observation),
            ObservationConnection: { count: 3 },
          },
          {
            id: 'bob',
            ObservationList: [{ id: 'bob', subject: { resource: { id: 'bob' } } }],
            ObservationConnection: { count: 1 },
          },
        ],
        ObservationList: ofAnn.map((id) => ({ id })),
      },
    });
  });

  test('are local in conditional writes', async () => {
    const repository = createRepository({ store: await filled(open()), caller: systemCaller('clinic'), baseUrl: BASE });
    const bundle = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          resource: { ...about('new', 'Patient/bob'), id: undefined },
          request: { method: 'POST', url: 'Observation', ifNoneExist: 'subject=Patient/bob' },
        },
      ],
    } as const;
    const { entry } = await repository.transaction(bundle as never);
    expect(entry![0]!.response!.status).toMatch(/^200/);
  });

  test('are foreign without a base', async () => {
    const repository = createRepository({ store: await filled(open()), caller: systemCaller('clinic') });
    const idsOf = async (query: string): Promise<unknown> =>
      (await repository.search('Observation', query)).entry?.map(({ resource }) => resource!.id);
    expect(await idsOf('subject=Patient/ann')).toEqual(['relative']);
    expect(await idsOf(`subject=${BASE}/Patient/ann`)).toEqual(['absolute', 'versioned']);
    expect(await idsOf('subject:Patient.family=hill')).toEqual(['relative']);
  });

  test('belong to the compartment of their patient, and to no other', async () => {
    const store = await filled(open());
    const patient = await signedIn(store, { profile: ann });
    const seen = async (caller: Caller, baseUrl?: string): Promise<unknown> => {
      const repository = repositoryOf(store, caller, { baseUrl });
      const found = await repository.search('Observation', '');
      const ids = RESOURCES.flatMap(({ resourceType, id }) => (resourceType === 'Observation' ? id! : []));
      const read = await Promise.all(
        ids.map((id) =>
          repository.read('Observation', id).then(
            () => id,
            () => [],
          ),
        ),
      );
      expect(read.flat().sort()).toEqual((found.entry ?? []).map(({ resource }) => resource!.id));
      return read.flat().sort();
    };
    expect(await seen(patient, BASE)).toEqual(ofAnn);
    expect(await seen(patient)).toEqual(['relative']);
    expect(await seen(patient, 'https://elsewhere.org/fhir')).toEqual(['elsewhere', 'relative']);
  });

  test('are written under the same rules as they are read', async () => {
    const store = await filled(open());
    const caller = await signedIn(store, {
      profile: ann,
      rules: [
        { resourceType: 'Patient' },
        { resourceType: 'Observation', criteria: 'Observation?subject:Patient.family=hill' },
      ],
    });
    const mine = repositoryOf(store, caller, { baseUrl: BASE });
    const { id: _, ...created } = about('new', `${BASE}/Patient/ann`);
    expect((await mine.create(created)).subject).toEqual({ reference: `${BASE}/Patient/ann` });
    expect(await codeOf(mine.create({ ...created, subject: { reference: `${BASE}/Patient/bob` } }))).toBe('forbidden');
    expect(await codeOf(repositoryOf(store, caller).create(created))).toBe('forbidden');
  });
});
