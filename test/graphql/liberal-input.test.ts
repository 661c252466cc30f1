import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../src/index.js';
import { failures, openClinic, type Variables } from './harness.js';

/** What is taken in both dialects besides strict GraphQL: https://hl7.org/fhir/R4/graphql.html writes it that way. */

const clinic = await openClinic([
  {
    resourceType: 'Patient',
    id: 'ann',
    active: true,
    gender: 'female',
    birthDate: '1970-01-01',
    multipleBirthInteger: 2,
    identifier: [{ value: '12' }],
    name: [
      { use: 'official', family: 'Hill', given: ['Ann'] },
      { use: 'usual', given: ['Annie'] },
      { use: 'old', family: '7' },
    ],
    telecom: [{ system: 'phone', value: '1', rank: 1 }, { system: 'email', value: 'a@example.org', rank: 2 }],
  },
  { resourceType: 'Patient', id: 'bob', active: false, gender: 'male', birthDate: '1980-01-01', identifier: [{ value: '13' }] },
  { resourceType: 'Patient', id: 'cem', gender: 'other', birthDate: '1990-01-01', identifier: [{ value: 'true' }] },
  { resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' }, subject: { reference: 'Patient/ann' }, valueQuantity: { value: 12 } },
]); // prettier-ignore

const DIALECTS: readonly Dialect[] = ['standard', 'hl7'];

describe.each(DIALECTS)('in dialect %s', (dialect) => {
  /** The ids that a list of patients found. */
  async function found(args: string, variables: Variables = {}, definitions = ''): Promise<readonly string[]> {
    const query = `query ${definitions} { PatientList(${args}) { id } Observation(id: o) { id } }`;
    const { PatientList = [] } = (await clinic.data(query, variables, { dialect })) as {
      readonly PatientList?: readonly { readonly id: string }[];
    };
    return PatientList.map(({ id }) => id);
  }

  describe('a single value for a declared list, and a list, which matches any of its values', () => {
    test.each([
      ['gender: "male"', ['bob']],
      ['gender: ["male"]', ['bob']],
      ['gender: ["male", "female"]', ['ann', 'bob']],
      ['gender: "male,female"', ['ann', 'bob']],
      ['gender: [male, "female,other"]', ['ann', 'bob', 'cem']],
      ['gender: []', []],
      ['_id: ["ann", "cem"]', ['ann', 'cem']],
      ['_sort: "-birthdate"', ['cem', 'bob', 'ann']],
      ['_sort: ["-active", "birthdate"]', ['ann', 'bob', 'cem']],
      ['_filter: ["gender eq male", "active eq true"]', ['ann', 'bob']],
    ])('PatientList(%s)', async (args, ids) => {
      expect(await found(args)).toEqual(ids);
    });
  });

  describe('booleans and numbers as search values', () => {
    test.each([
      ['active: true', ['ann']],
      ['active: [true, false]', ['ann', 'bob']],
      ['active: "true"', ['ann']],
      ['identifier: 12', ['ann']],
      ['identifier: [12, 13]', ['ann', 'bob']],
      ['identifier: true', ['cem']],
      ['birthdate: 1980', ['bob']],
      ['birthdate: [1980, "gt1985"]', ['bob', 'cem']],
    ])('PatientList(%s)', async (args, ids) => {
      expect(await found(args)).toEqual(ids);
    });

    test.each([
      ['12', true],
      ['12.0', true],
      ['12.4', false],
      ['11', false],
    ])('value_quantity: %s has the precision of its text', async (value, finds) => {
      const query = `{ ObservationList(value_quantity: ${value}) { id } Patient(id: ann) { id } }`;
      expect(await clinic.data(query, {}, { dialect })).toEqual({
        ...(finds ? { ObservationList: [{ id: 'o' }] } : dialect === 'standard' ? { ObservationList: [] } : {}),
        Patient: { id: 'ann' },
      });
    });
  });

  describe('enum tokens for a declared string', () => {
    test.each([
      ['gender: male', ['bob']],
      ['gender: [male, other]', ['bob', 'cem']],
      ['_id: ann', ['ann']],
      ['_sort: birthdate', ['ann', 'bob', 'cem']],
    ])('PatientList(%s)', async (args, ids) => {
      expect(await found(args)).toEqual(ids);
    });

    test('tokens for ids of reads, names of references and types', async () => {
      const query = `{ Patient(id: ann) { ObservationList(_reference: subject) { subject { resource(type: Patient) { id } } } } }`;
      expect(await clinic.data(query, {}, { dialect })).toEqual({
        Patient: { ObservationList: [{ subject: { resource: { id: 'ann' } } }] },
      });
    });
  });

  describe('variables of any scalar type, single or in a list, for a declared list', () => {
    test.each<readonly [string, string, unknown, readonly string[]]>([
      ['gender: $v', 'String', 'male', ['bob']],
      ['gender: $v', 'String!', 'male', ['bob']],
      ['gender: $v', 'String = "male"', undefined, ['bob']],
      ['gender: $v', '[String]', ['male', 'female'], ['ann', 'bob']],
      ['gender: $v', '[String!]!', 'male', ['bob']],
      ['gender: [$v, female]', 'String', 'male', ['ann', 'bob']],
      ['gender: $v', 'String', null, ['ann', 'bob', 'cem']],
      ['active: $v', 'Boolean', true, ['ann']],
      ['active: $v', '[Boolean]', [true, false], ['ann', 'bob']],
      ['identifier: $v', 'Int', 12, ['ann']],
      ['identifier: $v', '[Int!]', [12, 13], ['ann', 'bob']],
      ['birthdate: $v', 'Int!', 1980, ['bob']],
      ['_id: $v', 'ID', 'ann', ['ann']],
      ['_sort: $v', 'String', '-birthdate', ['cem', 'bob', 'ann']],
    ])('PatientList(%s) with $v: %s of %j', async (args, type, value, ids) => {
      expect(await found(args, value === undefined ? {} : { v: value }, `($v: ${type})`)).toEqual(ids);
    });

    test('refuses objects and values of another type than declared', async () => {
      for (const [type, value] of [
        ['String', { gender: 'male' }],
        ['String', ['male']],
        ['Boolean', 'true'],
      ] as const) {
        const query = `query($v: ${type}) { PatientList(gender: $v) { id } }`;
        expect(failures(await clinic.ask(query, { v: value }, { dialect }))).toEqual(['invalid (1:7)']);
      }
    });
  });

  describe('filters of elements', () => {
    test.each([
      ['name(use: official)', ['official']],
      ['name(use: "official")', ['official']],
      ['name(use: ["official", old])', ['official', 'old']],
      ['name(given: ["Ann", "Annie"])', ['official', 'usual']],
      ['name(use: ["official", null])', ['official']],
      ['name(family: "7")', ['old']],
    ])('%s', async (field, uses) => {
      expect(await clinic.data(`{ Patient(id: ann) { ${field} { use } } }`, {}, { dialect })).toEqual({
        Patient: { name: uses.map((use) => ({ use })) },
      });
    });

    test.each<readonly [string, unknown, readonly string[]]>([
      ['String', 'old', ['old']],
      ['[String]', ['old', 'usual'], ['usual', 'old']],
    ])('name(use: $v) with $v: %s of %j', async (type, value, uses) => {
      const query = `query($v: ${type}) { Patient(id: ann) { name(use: $v) { use } } }`;
      expect(await clinic.data(query, { v: value }, { dialect })).toEqual({
        Patient: { name: uses.map((use) => ({ use })) },
      });
    });

    test('variables inside a list', async () => {
      const query =
        'query($one: String, $none: String) { Patient(id: ann) { name(use: [$one, "old", $none]) { use } } }';
      expect(await clinic.data(query, { one: 'usual' }, { dialect })).toEqual({
        Patient: { name: [{ use: 'usual' }, { use: 'old' }] },
      });
    });

    test('of numbers and booleans compare with the type', async () => {
      expect(await clinic.data('{ Patient(id: ann) { telecom(rank: 2) { system } } }', {}, { dialect })).toEqual({
        Patient: { telecom: [{ system: 'email' }] },
      });
      expect(
        failures(await clinic.ask('{ Patient(id: ann) { telecom(rank: "2") { system } } }', {}, { dialect })),
      ).toEqual(['invalid (1:36)']);
    });
  });

  test.each([
    '{ PatientList(gender: { male: true }) { id } }',
    '{ PatientList(gender: [["male"]]) { id } }',
    '{ PatientList(fhirpath: ["active"]) { id } }',
    '{ Patient(id: ["ann"]) { id } }',
    '{ Patient(id: ann) { name(use: [["old"]]) { use } } }',
    '{ Patient(id: ann) { name(use: { old: 1 }) { use } } }',
    '{ Patient(id: ann) { ObservationList(_reference: [subject]) { id } } }',
  ])('refuses %s', async (query) => {
    const { data, errors } = await clinic.ask(query, {}, { dialect });
    expect(data).toBeUndefined();
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['invalid']);
  });

  test('fields directly on `resource`, if the types that it can lead to agree on them', async () => {
    expect(
      await clinic.data('{ Observation(id: o) { subject { resource { id birthDate } } } }', {}, { dialect }),
    ).toEqual({ Observation: { subject: { resource: { id: 'ann', birthDate: '1970-01-01' } } } });
    const wrong = await clinic.ask(
      '{ Observation(id: o) { subject { resource { valueQuantity { value } } } } }',
      {},
      { dialect },
    );
    expect(failures(wrong)).toEqual(['invalid (1:45)']);
  });
});
