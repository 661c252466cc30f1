import { executeFhirGraphql } from 'fhirgraph';
import { expect } from 'vitest';
import type { Items } from './item.js';
import type { World } from './world.js';

const PATH = '/fhir/R4/$graphql';

/** An item that is checked by one query and its data. */
function asked(item: string, text: string, query: string, data: unknown): Items[number] {
  return [item, text, async (world) => expect(await world.query(query)).toEqual(data)];
}

/** The message of the first error of a query. */
async function refusal({ http }: World, query: string): Promise<string | undefined> {
  const { body } = await http('POST', PATH, { body: { query } });
  return (body as { errors?: readonly { message: string }[] }).errors?.[0]?.message;
}

/** Section 4.1: the GraphQL endpoint. */
export const GRAPHQL: Items = [
  [
    '4.1 Method',
    'POST',
    async ({ http }) =>
      expect((await http('POST', PATH, { body: { query: '{ PatientList { id } }' } })).status).toBe(200),
  ],
  [
    '4.1 Path',
    '{base_url}/fhir/R4/$graphql, and no other',
    async ({ http }) => {
      const body = { query: '{ PatientList { id } }' };
      expect((await http('POST', '/fhir/$graphql', { body })).status).toBe(404);
      expect((await http('POST', PATH, { body })).status).toBe(200);
    },
  ],
  [
    '4.1 Request headers',
    'JSON content, and a bearer token',
    async ({ http }) => {
      const body = { query: '{ PatientList { id } }' };
      const answer = await http('POST', PATH, { body });
      expect([answer.status, answer.type]).toEqual([200, 'application/json; charset=utf-8']);
      expect((await http('POST', PATH, { body, token: null })).status).toBe(401);
    },
  ],
  [
    '4.1 Request body',
    'one member `query`: a selection set in braces, or with the keyword `query`',
    async ({ query }) => {
      const expected = { Patient: { id: 'cleo' } };
      expect(await query('{ Patient(id: "cleo") { id } }')).toEqual(expected);
      expect(await query('query { Patient(id: "cleo") { id } }')).toEqual(expected);
    },
  ],
  [
    '4.1 Response body',
    'one member `data` in the shape of the query, under names or aliases',
    async ({ http }) => {
      const query = '{ Patient(id: "cleo") { id } other: Patient(id: "eva") { sex: gender } }';
      const { body } = await http('POST', PATH, { body: { query } });
      expect(body).toEqual({ data: { Patient: { id: 'cleo' }, other: { sex: 'female' } } });
    },
  ],
  asked(
    '4.1 #1',
    'a type with an id is one object with the elements wanted, nested ones too',
    '{ Patient(id: "cleo") { resourceType id name { given family } address { city } } }',
    {
      Patient: {
        resourceType: 'Patient',
        id: 'cleo',
        name: [
          { given: ['Cleo', 'Ines'], family: 'Brook' },
          { given: ['Cle'], family: null },
        ],
        address: [{ city: 'Springfield' }],
      },
    },
  ),
  asked('4.1 #2', 'a type with the suffix List is an array of resources', '{ EncounterList { id } }', {
    EncounterList: [{ id: 'visit' }],
  }),
  asked(
    '4.1 #2 -1',
    'its arguments are search parameters, joined by AND',
    '{ PatientList(name: "Eva", gender: "female") { id } none: PatientList(name: "Eva", gender: "male") { id } }',
    { PatientList: [{ id: 'eva' }], none: [] },
  ),
  asked('4.1 #2 -2', 'with _ where REST has -', '{ PatientList(address_city: "Springfield", _sort: "_id") { id } }', {
    PatientList: [{ id: 'cleo' }, { id: 'eva' }],
  }),
  [
    '4.1 #2 -3',
    'modifiers are not supported',
    async (world) => {
      for (const argument of ['gender:not: "female"', 'gender_not: "female"', 'gender_missing: "true"']) {
        expect(await refusal(world, `{ PatientList(${argument}) { id } }`)).toBeDefined();
      }
      const { data, errors } = await executeFhirGraphql('{ PatientList(name_contains: "va") { id } }', {
        store: world.store,
        caller: world.administrator,
      });
      expect([data, errors?.[0]?.extensions.code]).toEqual([undefined, 'invalid']);
    },
  ],
  asked('4.1 #3', 'any field may have an alias', '{ everyone: PatientList(name: "Fay") { key: id } }', {
    everyone: [{ key: 'fay' }],
  }),
  asked(
    '4.1 #4',
    'a reference has a sub-element `resource`',
    '{ Encounter(id: "visit") { subject { reference resource { ... on Patient { id } } } } }',
    { Encounter: { subject: { reference: 'Patient/cleo', resource: { id: 'cleo' } } } },
  ),
  asked(
    '4.1 #4 -1',
    'inline fragments select by type',
    '{ Encounter(id: "visit") { subject { resource { ... on Group { id } ... on Patient { address { city } } } } } }',
    { Encounter: { subject: { resource: { address: [{ city: 'Springfield' }] } } } },
  ),
  asked(
    '4.1 #4 -2',
    'an array of references is an array of objects with a `resource`',
    '{ DiagnosticReport(id: "panel") { result { resource { ... on Observation { code { text } } } } } }',
    {
      DiagnosticReport: {
        result: [{ resource: { code: { text: 'glucose' } } }, { resource: { code: { text: 'sodium' } } }],
      },
    },
  ),
  asked(
    '4.1 #5',
    'inside a resource, a List with `_reference` finds what points to it',
    '{ Patient(id: "cleo") { EncounterList(_reference: patient) { id } } }',
    { Patient: { EncounterList: [{ id: 'visit' }] } },
  ),
  asked(
    '4.1 #5 -1',
    'its value is the bare name of a search parameter',
    '{ Patient(id: "cleo") { DiagnosticReportList(_reference: subject) { id } } }',
    { Patient: { DiagnosticReportList: [{ id: 'panel' }] } },
  ),
  asked(
    '4.1 #5 -2',
    'aliases, nesting, references and searches go together',
    `{
      PatientList(name: "Cleo") {
        visits: EncounterList(_reference: subject) {
          reports: DiagnosticReportList(_reference: encounter) { result { resource { ... on Observation { id } } } }
        }
      }
    }`,
    {
      PatientList: [
        { visits: [{ reports: [{ result: [{ resource: { id: 'glucose' } }, { resource: { id: 'sodium' } }] }] }] },
      ],
    },
  ),
  asked(
    '4.1 #6',
    'elements that repeat take arguments that filter their items',
    '{ Patient(id: "cleo") { telecom(system: "phone") { value } } }',
    { Patient: { telecom: [{ value: '555-0100' }] } },
  ),
  asked(
    '4.1 #6 -1',
    'an argument named after a sub-element compares; extensions by url, their values under an alias',
    `{
      Patient(id: "cleo") {
        name(use: "official") { family }
        extension(url: "http://example.org/eye-colour") { colour: valueString }
      }
    }`,
    { Patient: { name: [{ family: 'Brook' }], extension: [{ colour: 'green' }] } },
  ),
  asked(
    '4.1 #6 -2',
    'fhirpath keeps the items for which it is true',
    `{ Patient(id: "cleo") { name(fhirpath: "family.exists().not()") { given } } }`,
    { Patient: { name: [{ given: ['Cle'] }] } },
  ),
  asked(
    '4.1 #6 -3',
    'what an item lacks is null',
    `{ Patient(id: "cleo") { name(fhirpath: "family.empty()") { given family } } }`,
    { Patient: { name: [{ given: ['Cle'], family: null }] } },
  ),
  [
    '4.1 #6 -4',
    'FHIRPath costs more than filtering by the client',
    async ({ store, administrator: caller }) => {
      const steps = async (filter: string): Promise<number> => {
        const query = `{ Patient(id: "cleo") { name${filter} { given } } }`;
        const { extensions } = await executeFhirGraphql(query, { store, caller, ...REPORT_COST });
        return (extensions as { cost: { fhirpathSteps: number } }).cost.fhirpathSteps;
      };
      expect(await steps('')).toBe(0);
      expect(await steps('(fhirpath: "family.empty()")')).toBeGreaterThan(0);
    },
  ],
  asked('4.1 <ResourceType>(id: ...)', 'one object', '{ one: Patient(id: "fay") { gender } }', {
    one: { gender: 'female' },
  }),
  asked(
    '4.1 <ResourceType>List(...)',
    'an array of objects',
    '{ PatientList(name: "Fay") { gender } many: OrganizationList(_sort: "_id") { name } }',
    { PatientList: [{ gender: 'female' }], many: [{ name: 'North' }, { name: 'South' }] },
  ),
];

const REPORT_COST = { reportCost: true };
