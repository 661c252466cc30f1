import type { Bundle, CapabilityStatement, Resource } from '@medplum/fhirtypes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { MemoryStore, printFhirSchema } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { codeOf, member } from '../repository/harness.js';
import { openService, type Service } from '../http/handler/open-service.js';
import { EXTENSIONS, searchParameter } from './search-parameters.js';

const RACE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-race';

const model = await extendDefinitions(R4, {
  searchParameters: [
    searchParameter({
      code: 'race',
      base: 'Patient',
      type: 'token',
      expression: `Patient.extension.where(url = '${RACE}').extension.value.code`,
    }),
    searchParameter({
      code: 'ward-no',
      base: 'Patient',
      type: 'number',
      expression: `Patient.extension('${EXTENSIONS}ward').value.ofType(integer)`,
    }),
    searchParameter({
      code: 'nickname',
      base: 'Patient',
      type: 'string',
      expression: "Patient.name.where(use = 'nickname').given.first()",
    }),
    searchParameter({
      code: 'next-of-kin',
      base: 'Patient',
      type: 'reference',
      expression: 'Patient.contact.organization',
    }),
    searchParameter({
      code: 'admitted',
      base: 'Encounter',
      type: 'date',
      expression: `Encounter.extension('${EXTENSIONS}admitted').value`,
    }),
    searchParameter({
      code: 'escort',
      base: 'Encounter',
      type: 'reference',
      expression: `Encounter.extension('${EXTENSIONS}escort').value.ofType(Reference)`,
      target: ['Patient'],
    }),
    searchParameter({
      code: 'contact-role',
      base: 'Patient',
      type: 'composite',
      expression: 'Patient.contact',
      component: [
        { definition: 'http://hl7.org/fhir/SearchParameter/individual-gender', expression: 'gender' },
        { definition: 'https://clinic.example/relationship', expression: 'relationship' },
      ],
    }),
  ],
});

type Elements = { readonly [name: string]: unknown };

function patient(id: string, race: string, ward: number, more: Elements = {}): Elements {
  return {
    resourceType: 'Patient',
    id,
    extension: [
      {
        url: RACE,
        extension: [
          { url: 'ombCategory', valueCoding: { code: race } },
          { url: 'text', valueString: race },
        ],
      },
      { url: `${EXTENSIONS}ward`, valueInteger: ward },
    ],
    ...more,
  };
}

const RESOURCES: readonly Elements[] = [
  { resourceType: 'Organization', id: 'kin', name: 'Kin' },
  patient('ann', 'white', 4, {
    name: [
      { family: 'Lee', given: ['Ann'] },
      { use: 'nickname', given: ['Annie', 'Nan'] },
    ],
  }),
  patient('bob', 'asian', 7, {
    contact: [
      {
        organization: { reference: 'Organization/kin' },
        gender: 'female',
        relationship: [{ coding: [{ code: 'N' }] }],
      },
      { gender: 'male', relationship: [{ coding: [{ code: 'E' }] }] },
    ],
  }),
  patient('cid', 'asian', 2),
  {
    resourceType: 'Encounter',
    id: 'e1',
    status: 'finished',
    class: { code: 'IMP' },
    subject: { reference: 'Patient/ann' },
    extension: [
      { url: `${EXTENSIONS}admitted`, valueDateTime: '2020-05-01' },
      { url: `${EXTENSIONS}escort`, valueReference: { reference: 'Patient/bob' } },
    ],
  },
  {
    resourceType: 'Encounter',
    id: 'e2',
    status: 'finished',
    class: { code: 'IMP' },
    subject: { reference: 'Patient/bob' },
    extension: [{ url: `${EXTENSIONS}admitted`, valuePeriod: { start: '2021-05-01', end: '2021-06-01' } }],
  },
];

describe.each([
  ['memory', () => new MemoryStore({ model })],
  ['SQLite', () => new SqliteStore(':memory:', { model })],
])('custom parameters over %s', (_, open) => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ store: open() });
    for (const resource of RESOURCES) await service.trusted.update(resource as unknown as Resource);
  });
  afterAll(() => service.store.close());

  async function ids(path: string): Promise<unknown[]> {
    const { status, body } = await service.call('GET', path);
    expect(body, path).toMatchObject({ resourceType: 'Bundle' });
    expect(status).toBe(200);
    return ((body as Bundle).entry ?? []).map(
      ({ resource, search }) => (search?.mode === 'include' ? '+' : '') + resource!.id!,
    );
  }

  test.each([
    ['Patient?race=asian', ['bob', 'cid']],
    ['Patient?race:not=asian', ['ann']],
    ['Patient?ward-no=gt3&_sort=-ward-no', ['bob', 'ann']],
    ['Patient?_sort=ward-no', ['cid', 'ann', 'bob']],
    ['Patient?nickname=annie', ['ann']],
    ['Patient?nickname=nan', []],
    ['Patient?nickname:missing=true', ['bob', 'cid']],
    ['Patient?next-of-kin=Organization/kin', ['bob']],
    ['Patient?next-of-kin.name=kin', ['bob']],
    ['Patient?next-of-kin=Organization/kin&_include=Patient:next-of-kin', ['bob', '+kin']],
    ['Patient?_filter=race eq asian and ward-no lt 5', ['cid']],
    ['Patient?contact-role=female$N', ['bob']],
    ['Patient?contact-role=female$E', []],
    ['Patient?_has:Encounter:escort:admitted=2020', ['bob']],
    ['Encounter?admitted=ge2021', ['e2']],
    ['Encounter?subject:Patient.race=asian', ['e2']],
    ['Encounter?escort.race=asian', ['e1']],
    ['Patient?_id=bob&_revinclude=Encounter:escort', ['bob', '+e1']],
  ])('%s', async (path, expected) => {
    expect(await ids(path)).toEqual(expected);
  });

  test('GraphQL accepts them as arguments in snake_case, in sorts, filters and reverse lists', async () => {
    const query = `{
      PatientList(race: "asian", ward_no: "gt1", _sort: "-ward-no") {
        id
        EncounterList(_reference: escort, admitted: "2020") { id }
      }
      EncounterList(_filter: "escort.race eq asian") { id }
      again: PatientList(_sort: "ward-no", _count: 1) { id }
    }`;
    const { body } = await service.call('POST', '$graphql', {
      body: { query },
      headers: { 'content-type': 'application/json' },
    });
    expect(body).toEqual({
      data: {
        PatientList: [
          { id: 'bob', EncounterList: [{ id: 'e1' }] },
          { id: 'cid', EncounterList: [] },
        ],
        EncounterList: [{ id: 'e1' }],
        again: [{ id: 'cid' }],
      },
    });
  });

  test('policies can use them', async () => {
    const reader = await member(service.store, {
      project: service.project,
      rules: [
        { resourceType: 'Patient', criteria: 'Patient?race=asian&ward-no=lt5' },
        { resourceType: 'Encounter', criteria: 'Encounter?escort.race=asian', hiddenFields: ['extension.value'] },
      ],
    });
    const found = async (type: 'Patient' | 'Encounter', query: string): Promise<unknown[]> =>
      ((await reader.search(type, query)).entry ?? []).map(({ resource }) => resource!.id);
    expect(await found('Patient', '')).toEqual(['cid']);
    expect(await found('Patient', 'race:not=asian')).toEqual([]);
    expect(await found('Encounter', '')).toEqual(['e1']);
    // The values that the parameter is made of are hidden.
    expect(await found('Encounter', 'admitted=2020')).toEqual([]);
    expect(await codeOf(reader.update({ ...patient('cid', 'white', 2), resourceType: 'Patient' }))).toBe('forbidden');
  });

  test('they are in the schema and in metadata', async () => {
    expect(printFhirSchema({ model, types: ['Patient'] })).toMatch(
      /^ {4}"""Own parameter ward-no"""\n {4}ward_no: \[/m,
    );
    const { body } = await service.call('GET', 'metadata');
    const [rest] = (body as CapabilityStatement).rest!;
    const ofPatient = rest!.resource!.find(({ type }) => type === 'Patient')!;
    expect(ofPatient.searchParam).toContainEqual({
      name: 'race',
      type: 'token',
      documentation: 'Own parameter race',
      definition: 'https://clinic.example/SearchParameter/race',
    });
    expect(ofPatient.searchInclude).toContain('Patient:next-of-kin');
  });
});
