import { type Dialect, printFhirSchema } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { buildSchema, isInterfaceType, isNonNullType, isObjectType } from 'graphql';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { failures, openClinic, type Sample } from './harness.js';

/** Decisions of this library about open points of the specification: one `describe` per decision. */

const NAMES = [
  { use: 'official', family: 'Hill', given: ['Jim', 'Bo'] },
  { use: 'usual', given: ['Jim'] },
  { use: 'old', family: 'Dale', given: ['James'] },
  { use: 'nickname', family: 'Hill', given: ['Jimmy', 'Jim'] },
];

const RESOURCES: readonly Sample[] = [
  { resourceType: 'Patient', id: 'b', gender: 'male', birthDate: '1970-01-01', name: NAMES },
  { resourceType: 'Patient', id: 'c', gender: 'female', birthDate: '1980-01-01' },
  { resourceType: 'Patient', id: 'a', gender: 'male', birthDate: '1980-01-01' },
  // Neither has the elements that R4 requires.
  { resourceType: 'Observation', id: 'legacy', subject: { reference: 'Patient/b' } },
  { resourceType: 'Encounter', id: 'e', subject: { reference: 'Patient/b' } },
];

const clinic = await openClinic(RESOURCES);
const DIALECTS: readonly Dialect[] = ['standard', 'hl7'];

const ids = (rows: unknown): string[] => (rows as readonly { readonly id: string }[]).map(({ id }) => id);

describe.each(DIALECTS)('in dialect %s', (dialect) => {
  const data = async (query: string, variables?: { readonly [name: string]: unknown }) =>
    (await clinic.data(query, variables, { dialect })) as { readonly [key: string]: unknown };

  describe('mutations: PatientCreate(res:), PatientUpdate(id:, res:), PatientDelete(id:); the resource comes back (delete: null)', () => {
    test('mutations have these names and arguments', async () => {
      const { ask } = await openClinic([]);
      const mutation = `mutation ($res: PatientInput!) {
        PatientCreate(res: $res) { active }
        PatientUpdate(id: "m", res: $res) { id active }
        PatientDelete(id: "m") { id }
      }`;
      const answer = await ask(mutation, { res: { active: true } }, { dialect });
      expect(answer).toEqual({
        data: {
          PatientCreate: { active: true },
          PatientUpdate: { id: 'm', active: true },
          ...(dialect === 'hl7' ? {} : { PatientDelete: null }),
        },
      });
    });
  });

  describe('pagesize / pageSize, cursor / _cursor, @slice(path) / @slice(fhirpath), Patient(id) / Patient(_id): both are accepted', () => {
    test('pagesize and pageSize', async () => {
      expect(await data('{ PatientConnection(_count: 2) { pagesize pageSize } }')).toEqual({
        PatientConnection: { pagesize: 2, pageSize: 2 },
      });
    });

    test('cursor and _cursor', async () => {
      const { PatientConnection: page } = await data('{ PatientConnection(_count: 2) { next } }');
      const { next } = page as { readonly next: string };
      for (const name of ['cursor', '_cursor']) {
        const query = `query($at: String) { PatientConnection(${name}: $at) { edges { resource { id } } } }`;
        expect(await data(query, { at: next })).toEqual({ PatientConnection: { edges: [{ resource: { id: 'c' } }] } });
      }
    });

    test.each(['path', 'fhirpath'])('@slice(%s)', async (name) => {
      const query = `{ Patient(id: "b") { name(family: "Hill") @slice(${name}: "use") { family } } }`;
      expect(await data(query)).toEqual({
        Patient: { 'name.official': [{ family: 'Hill' }], 'name.nickname': [{ family: 'Hill' }] },
      });
    });

    test.each(['id', '_id'])('Patient(%s)', async (name) => {
      expect(await data(`{ Patient(${name}: "b") { id } }`)).toEqual({ Patient: { id: 'b' } });
    });
  });

  describe('_offset and _count on elements: after the filters', () => {
    test.each([
      ['family: "Hill", _offset: 1', ['nickname']],
      ['family: "Hill", _count: 1', ['official']],
      ['fhirpath: "given = \'Jim\' or given.count() = 2", _offset: 1, _count: 1', ['usual']],
      ['given: "Jim", _offset: 1, _count: 2', ['usual', 'nickname']],
    ])('name(%s)', async (args, uses) => {
      expect(await data(`{ Patient(id: "b") { name(${args}) { use } } }`)).toEqual({
        Patient: { name: uses.map((use) => ({ use })) },
      });
    });
  });

  describe('List without _count: all matches; more than the limit is an error, never a silent cut', () => {
    test('up to the limit', async () => {
      const limits = { listSize: 3 };
      expect(await clinic.data('{ PatientList { id } }', {}, { dialect, limits })).toEqual({
        PatientList: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
      });
    });

    test('beyond the limit', async () => {
      const { data: answer, errors } = await clinic.ask(
        '{ PatientList { id } }',
        {},
        { dialect, limits: { listSize: 2 } },
      );
      expect(answer).toBeUndefined();
      expect(errors).toMatchObject([{ extensions: { code: 'too-costly', details: { limit: 'listSize', max: 2 } } }]);
    });
  });

  describe('List with _count: that page; by _id, ties of any _sort by ascending id', () => {
    test.each([
      ['_count: 2', ['a', 'b']],
      ['_count: 2, _offset: 1', ['b', 'c']],
      ['_count: 3, _sort: "birthdate"', ['b', 'a', 'c']],
      ['_count: 3, _sort: "-birthdate"', ['a', 'c', 'b']],
      ['_count: 2, _sort: "gender"', ['c', 'a']],
      ['_count: 3, _sort: "-gender"', ['a', 'b', 'c']],
      ['_count: 1, _sort: "-_id"', ['c']],
    ])('PatientList(%s)', async (args, expected) => {
      const { PatientList: list } = await data(`{ PatientList(${args}) { id } }`);
      expect(ids(list)).toEqual(expected);
    });

    test('_count: 0 is an empty page', async () => {
      expect(await data('{ PatientList(_count: 0) { id } a: Patient(id: "a") { id } }')).toEqual(
        dialect === 'hl7' ? { a: { id: 'a' } } : { PatientList: [], a: { id: 'a' } },
      );
    });
  });

  describe('filter on a repeating sub-element: keeps items that contain it', () => {
    test.each([
      ['given: "Jim"', ['official', 'usual', 'nickname']],
      ['given: "Jimmy"', ['nickname']],
      ['given: ["Bo", "James"]', ['official', 'old']],
      ['given: "Jim", family: "Hill"', ['official', 'nickname']],
    ])('name(%s)', async (args, uses) => {
      expect(await data(`{ Patient(id: "b") { name(${args}) { use } } }`)).toEqual({
        Patient: { name: uses.map((use) => ({ use })) },
      });
    });
  });

  describe('Reference.resource: an interface Resource with the common elements, which every resource type implements', () => {
    test('common elements need no fragment', async () => {
      expect(
        await data('{ Encounter(id: "e") { subject { resource { __typename resourceType id meta { versionId } } } } }'),
      ).toEqual({
        Encounter: {
          subject: {
            resource: {
              __typename: 'Patient',
              resourceType: 'Patient',
              id: 'b',
              meta: { versionId: expect.any(String) },
            },
          },
        },
      });
    });

    test.each(['Patient', 'Resource'])('a fragment on %s applies', async (type) => {
      const query = `{ Encounter(id: "e") { subject { resource { ... on ${type} { id } } } } }`;
      expect(await data(query)).toEqual({ Encounter: { subject: { resource: { id: 'b' } } } });
    });

    test('a fragment on another type does not apply, and a fragment on an unknown type is refused', async () => {
      const other = '{ Encounter(id: "e") { id subject { reference resource { ... on Group { id } } } } }';
      const { Encounter: encounter } = await data(other);
      expect(encounter).toMatchObject({ id: 'e', subject: { reference: 'Patient/b' } });
      const wrong = await clinic.ask(
        '{ Encounter(id: "e") { subject { resource { ... on HumanName { use } } } } }',
        {},
        { dialect },
      );
      expect(wrong.errors?.[0]?.extensions.code).toBe('invalid');
    });
  });

  describe('FHIR min ≥ 1: nullable anyway', () => {
    test('a missing element does not erase its resource', async () => {
      expect(await data('{ Observation(id: "legacy") { id status code { text } } }')).toEqual({
        Observation: dialect === 'hl7' ? { id: 'legacy' } : { id: 'legacy', status: null, code: null },
      });
    });
  });

  describe('type names of nested elements: those of @medplum/fhirtypes', () => {
    test('Patient.contact is a PatientContact', async () => {
      const { Patient: patient } = await data(
        '{ Patient(id: "b") { contact { ... on PatientContact { gender } } id } }',
      );
      expect(patient).toMatchObject({ id: 'b' });
      const wrong = await clinic.ask(
        '{ Patient(id: "b") { contact { ... on Patient_Contact { gender } } } }',
        {},
        { dialect },
      );
      expect(failures(wrong)).toEqual(['invalid (1:39)']);
    });
  });
});

describe('the same decisions in the executable schema', () => {
  const schema = buildSchema(printFhirSchema(), { assumeValidSDL: true });

  test('Resource is an interface with the common elements, which every resource type implements', () => {
    const resource = schema.getType('Resource');
    if (!isInterfaceType(resource)) throw new Error('Resource is not an interface');
    expect(Object.keys(resource.getFields())).toEqual(
      expect.arrayContaining(['resourceType', 'id', 'meta', 'implicitRules', 'language']),
    );
    expect(schema.getPossibleTypes(resource).map(({ name }) => name)).toEqual(
      expect.arrayContaining([...R4.resourceTypes]),
    );
    const { resource: field } = (schema.getType('Reference') as typeof resource).getFields();
    expect(String(field!.type)).toBe('Resource');
  });

  test('elements that FHIR requires are nullable', () => {
    const elements = ['Observation', 'Encounter', 'Bundle', 'ObservationComponent'].flatMap((name) => {
      const type = schema.getType(name);
      if (!isObjectType(type)) throw new Error(`${name} is not an object type`);
      return Object.values(type.getFields()).filter(({ name: field }) => R4.typeDefinition(name)?.elements.has(field));
    });
    expect(elements.length).toBeGreaterThan(50);
    expect(elements.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual([]);
  });

  test('nested elements have the names of @medplum/fhirtypes', () => {
    const folder = new URL('../../node_modules/@medplum/fhirtypes/dist/', import.meta.url);
    const declarations = readdirSync(folder).filter((name) => name.endsWith('.d.ts'));
    const declared = new Set(
      declarations.flatMap((name) =>
        [...readFileSync(new URL(name, folder), 'utf8').matchAll(/^export interface (\w+)/gm)].map(([, type]) => type),
      ),
    );
    const nested = Object.keys(schema.getTypeMap()).filter((name) => {
      const definition = R4.typeDefinition(name);
      return definition?.kind === 'complex' && definition.path !== undefined;
    });
    expect(nested).toEqual(expect.arrayContaining(['PatientContact', 'ObservationComponent', 'BundleEntry']));
    expect(nested.filter((name) => !declared.has(name))).toEqual([]);
  });
});
