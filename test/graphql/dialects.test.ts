import { describe, expect, test } from 'vitest';
import { type AnyResource, type Dialect, executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { sparingStore } from '../support/sparing-store.js';

const RESOURCES = [
  {
    resourceType: 'Patient',
    id: 'ann',
    birthDate: '1970-01-01',
    identifier: [{ system: 'http://example.org/mrn', value: '7' }],
    name: [
      { use: 'official', family: 'Lee', given: ['Ann', 'May'] },
      { use: 'usual', given: ['Annie'] },
      { use: 'maiden', family: 'Fox', given: ['Ann'] },
    ],
    managingOrganization: { reference: 'Organization/gone' },
  },
  {
    resourceType: 'Observation',
    id: 'weight',
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: 'Patient/ann' },
    valueQuantity: { value: 60, unit: 'kg' },
  },
  { resourceType: 'Observation', id: 'note', status: 'final', code: { text: 'note' }, valueString: 'well' },
] as unknown as AnyResource[];

async function answer(dialect: Dialect, query: string) {
  const store = sparingStore(new MemoryStore());
  const caller = systemCaller('clinic');
  await guardStore(store, caller).commit(
    RESOURCES.map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
  return executeFhirGraphql(query, { store, caller, dialect });
}

async function ask(dialect: Dialect, query: string) {
  const { data, errors } = await answer(dialect, query);
  return { data, codes: errors?.map(({ extensions }) => extensions.code) };
}

/** The rows of the table of dialects: a query, and its answer in each. */
const ROWS: readonly {
  readonly row: string;
  readonly query: string;
  readonly standard: object;
  readonly hl7: object;
}[] = [
  {
    row: 'absent element; absent list, also with filter arguments',
    query: '{ Patient(id: ann) { gender photo { url } telecom(system: phone) { value } birthDate } }',
    standard: { data: { Patient: { gender: null, photo: null, telecom: null, birthDate: '1970-01-01' } } },
    hl7: { data: { Patient: { birthDate: '1970-01-01' } } },
  },
  {
    row: 'filter that keeps nothing of an existing list',
    query: '{ Patient(id: ann) { id name(use: nickname) { family } } }',
    standard: { data: { Patient: { id: 'ann', name: [] } } },
    hl7: { data: { Patient: { id: 'ann' } } },
  },
  {
    row: 'empty search list',
    query: '{ Patient(id: ann) { id ConditionList(_reference: subject) { id } } EncounterList { id } }',
    standard: { data: { Patient: { id: 'ann', ConditionList: [] }, EncounterList: [] } },
    hl7: { data: { Patient: { id: 'ann' } } },
  },
  {
    row: 'same response key twice: merged, or collated into a list',
    query: '{ Observation(id: weight) { code { text } code { text } status } }',
    standard: { data: { Observation: { code: { text: 'weight' }, status: 'final' } } },
    hl7: { data: { Observation: { code: [{ text: 'weight' }, { text: 'weight' }], status: 'final' } } },
  },
  {
    row: 'same response key twice: an error, or collated into a list',
    query: '{ Patient(id: ann) { same: birthDate same: id } }',
    standard: { codes: ['invalid'] },
    hl7: { data: { Patient: { same: ['1970-01-01', 'ann'] } } },
  },
  {
    row: 'unresolvable resource',
    query: '{ Patient(id: ann) { id managingOrganization { resource { id } } } }',
    standard: { data: { Patient: { id: 'ann', managingOrganization: { resource: null } } }, codes: ['not-found'] },
    hl7: { codes: ['not-found'] },
  },
  {
    row: 'unresolvable resource that is optional',
    query: '{ Patient(id: ann) { managingOrganization { reference resource(optional: true) { id } } } }',
    standard: {
      data: { Patient: { managingOrganization: { reference: 'Organization/gone', resource: null } } },
    },
    hl7: { data: { Patient: { managingOrganization: { reference: 'Organization/gone' } } } },
  },
  {
    row: 'resource not visible / not found by id',
    query: '{ here: Patient(id: ann) { id } nobody: Patient(id: bob) { id } }',
    standard: { data: { here: { id: 'ann' }, nobody: null }, codes: ['not-found'] },
    hl7: { codes: ['not-found'] },
  },
  {
    row: '@flatten @first @singleton @slice',
    query: `{ Patient(id: ann) {
      identifier @flatten { system @singleton value @singleton }
      name @flatten @slice(path: "use") { given family @singleton }
    } }`,
    standard: {
      data: {
        Patient: {
          system: 'http://example.org/mrn',
          value: '7',
          'given.official': ['Ann', 'May'],
          'family.official': 'Lee',
          'given.usual': ['Annie'],
          'given.maiden': ['Ann'],
          'family.maiden': 'Fox',
        },
      },
    },
    hl7: {
      data: {
        Patient: {
          system: 'http://example.org/mrn',
          value: '7',
          'given.official': ['Ann', 'May'],
          'family.official': 'Lee',
          'given.usual': ['Annie'],
          'given.maiden': ['Ann'],
          'family.maiden': 'Fox',
        },
      },
    },
  },
  {
    row: 'choice element by base name (value)',
    query: '{ kg: Observation(id: weight) { value { value unit } } text: Observation(id: note) { value } }',
    standard: { codes: ['invalid', 'invalid'] },
    hl7: { data: { kg: { value: { value: 60, unit: 'kg' } }, text: { value: 'well' } } },
  },
  {
    row: 'field directly on resource on which the possible types differ',
    query: '{ Observation(id: weight) { subject { resource { name { family } } } } }',
    standard: { codes: ['invalid'] },
    hl7: { data: { Observation: { subject: { resource: { name: [{ family: 'Lee' }, {}, { family: 'Fox' }] } } } } },
  },
  {
    row: 'pagesize of a connection without _count',
    query: '{ PatientConnection { pagesize } }',
    standard: { data: { PatientConnection: { pagesize: null } } },
    hl7: { data: { PatientConnection: { pagesize: 10_000 } } },
  },
];

describe.each(['standard', 'hl7'] as const)('dialect %s', (dialect) => {
  test.each(ROWS)('$row', async ({ query, ...expected }) => {
    expect(await ask(dialect, query)).toEqual({ data: undefined, codes: undefined, ...expected[dialect] });
  });
});

test('an error under a repeated key has the path of the response', async () => {
  const { data, errors } = await answer('hl7', '{ a: Patient(id: ann) { id } a: Patient(id: bob) { id } }');
  expect(data).toBeUndefined();
  expect(errors?.map(({ path }) => path)).toEqual([['a']]);
});

describe('directives that reshape', () => {
  const shapes: readonly [string, string, object][] = [
    ['@flatten collects the values of the items', '{ name @flatten { given family } }', { given: ['Ann', 'May', 'Annie', 'Ann'], family: ['Lee', 'Fox'] }],
    ['@first takes the first of each item', '{ name @flatten { given @first } }', { given: ['Ann', 'Annie', 'Ann'] }],
    ['@first on the flattened list takes one item', '{ name @flatten @first { given family } }', { given: ['Ann', 'May'], family: 'Lee' }],
    ['@slice by position', '{ name @flatten @slice(fhirpath: "$index") { family } }', { 'family.0': ['Lee'], 'family.2': ['Fox'] }],
    ['@slice without @flatten names the field itself', '{ name @slice(path: "use") { given } }', { 'name.official': [{ given: ['Ann', 'May'] }], 'name.usual': [{ given: ['Annie'] }], 'name.maiden': [{ given: ['Ann'] }] }],
    ['the suffix is added to an alias', '{ called: name(use: usual) @slice(path: "use") { given } }', { 'called.usual': [{ given: ['Annie'] }] }],
    ['through a fragment', '{ ...f } fragment f on Patient { name @flatten { ...g } } fragment g on HumanName { use }', { use: ['official', 'usual', 'maiden'] }],
    ['@flatten on resource', '{ ObservationList(_reference: subject) @flatten { code @flatten { text } subject @flatten { resource @flatten { birthDate } } } }', { text: ['weight'], birthDate: ['1970-01-01'] }],
    ['@first on a list of resources', '{ ObservationList(_reference: subject) @first { id } }', { ObservationList: [{ id: 'weight' }] }],
  ]; // prettier-ignore

  test.each(shapes)('%s', async (_, query, expected) => {
    const inner = query.replace(/^\{/, '{ Patient(id: ann) {').replace(/\}( fragment|$)/, '} }$1');
    expect(await ask('hl7', inner)).toEqual({ data: { Patient: expected }, codes: undefined });
  });

  test('an absent flattened object has null under its names in dialect standard', async () => {
    expect(await ask('standard', '{ Patient(id: ann) { maritalStatus @flatten { text } telecom @flatten { value } } }')).toEqual({
      data: { Patient: { text: null, value: null } },
      codes: undefined,
    }); // prettier-ignore
  });

  test('a failed field is null at its name in the response, and stays null', async () => {
    const query = `{ Patient(id: ann) { name @flatten { given family @singleton use @singleton } } }`;
    const { data, errors } = await answer('standard', query);
    expect(data).toEqual({ Patient: { given: ['Ann', 'May', 'Annie', 'Ann'], family: null, use: null } });
    expect(errors?.map(({ path }) => path)).toEqual([
      ['Patient', 'use'],
      ['Patient', 'family'],
    ]);
  });

  test.each([
    ['several values for @singleton', '{ Patient(id: ann) { name @flatten { family @singleton } } }'],
    ['@slice and @first on one field', '{ Patient(id: ann) { name @first @slice(path: "use") { family } } }'],
    ['@slice without expression', '{ Patient(id: ann) { name @slice { family } } }'],
    ['@flatten on a primitive', '{ Patient(id: ann) { birthDate @flatten } }'],
    ['a malformed expression', '{ Patient(id: ann) { name @slice(path: "use +") { family } } }'],
    ['one name for values of different types', '{ Patient(id: ann) { name @flatten { v: family } v: birthDate } }'],
  ])('%s is an error', async (_, query) => {
    const { codes } = await ask('standard', query);
    expect(codes).toEqual(['invalid']);
  });
});

test('a text that is the key of another cached document is a document of its own, and malformed', async () => {
  const query = '{ Patient(id: "ann") { birthDate } }';
  const expected = { data: { Patient: { birthDate: '1970-01-01' } }, codes: undefined };
  expect(await ask('hl7', query)).toEqual(expected);
  expect(await ask('standard', `hl7 Query\n${query}`)).toEqual({ data: undefined, codes: ['invalid'] });
  expect(await ask('standard', query)).toEqual(expected);
  expect(await ask('hl7', query)).toEqual(expected);
});
