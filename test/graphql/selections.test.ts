import { beforeAll, describe, expect, test } from 'vitest';
import { failures, messages, openClinic, type Clinic } from './harness.js';

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    {
      resourceType: 'Patient',
      id: '1',
      active: true,
      gender: 'female',
      birthDate: '1970-01-02',
      multipleBirthInteger: 2,
      name: [{ family: 'Hill', given: ['Ann', 'Bea'] }, { text: 'Annie' }],
      contact: [{ name: { family: 'Dale' } }],
    },
    { resourceType: 'Patient', id: '12345678901234567890', gender: 'other' },
    { resourceType: 'Observation', id: '1', subject: { reference: 'Patient/1' }, valueQuantity: { value: 1.5 } },
  ]);
});

describe('reads', () => {
  test.each([
    ['a string', '{ Patient(id: "1") { id } }'],
    ['a token', '{ Patient(id: 1) { id } }'],
    ['_id', '{ Patient(_id: "1") { id } }'],
    ['the query keyword', 'query { Patient(id: "1") { id } }'],
    ['an operation name', 'query One { Patient(id: "1") { id } }'],
    ['a byte order mark, comments and commas', '\uFEFF# one\n{ Patient(id: "1",,,) { id, } } # end'],
  ])('by %s', async (_, query) => {
    expect(await clinic.data(query)).toEqual({ Patient: { id: '1' } });
  });

  test('a long number is accepted as an id', async () => {
    expect(await clinic.data('{ Patient(id: 12345678901234567890) { gender } }')).toEqual({
      Patient: { gender: 'other' },
    });
  });

  test('all kinds of values, and null for absent values', async () => {
    const query = `{ Patient(id: 1) {
      resourceType id active gender birthDate multipleBirthInteger multipleBirthBoolean deceasedDateTime
      name { family given text period { start } }
      contact { name { family given } organization { reference } }
      photo { url } maritalStatus { text }
    } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: {
        resourceType: 'Patient',
        id: '1',
        active: true,
        gender: 'female',
        birthDate: '1970-01-02',
        multipleBirthInteger: 2,
        multipleBirthBoolean: null,
        deceasedDateTime: null,
        name: [
          { family: 'Hill', given: ['Ann', 'Bea'], text: null, period: null },
          { family: null, given: null, text: 'Annie', period: null },
        ],
        contact: [{ name: { family: 'Dale', given: null }, organization: null }],
        photo: null,
        maritalStatus: null,
      },
    });
  });

  test.each([
    ['nobody', 'not-found'],
    ['not an id!', 'not-found'],
    ['x'.repeat(65), 'not-found'],
    ['', 'not-found'],
  ])('a missing resource is null and an error: %j', async (id, code) => {
    const result = await clinic.ask('query($id: ID!) { Patient(id: $id) { id } }', { id });
    expect(result.data).toEqual({ Patient: null });
    expect(failures(result)).toEqual([`${code} at Patient (1:19)`]);
  });

  test.each([
    ['{ Patient { id } }', 'Field "Patient" argument "id" of type "ID!" is required'],
    ['{ Patient(id: null) { id } }', 'Field "Patient" argument "id" of type "ID!" is required'],
    ['{ Patient(id: 1, _id: 1) { id } }', 'Field "Patient" takes either "id" or "_id", not both.'],
    ['{ Patient(id: [1]) { id } }', 'ID cannot represent this value; expected one of: string, token, number.'],
    ['{ Patient(id: true) { id } }', 'ID cannot represent this value; expected one of: string, token, number.'],
  ])('the id must be given once: %s', async (query, message) => {
    const result = await clinic.ask(query);
    expect(messages(result)[0]).toContain(message);
    expect(result).not.toHaveProperty('data');
  });

  test('an id variable without value', async () => {
    const result = await clinic.ask('query($id: ID) { Patient(id: $id) { id } }');
    expect(result.data).toEqual({ Patient: null });
    expect(failures(result)).toEqual(['invalid at Patient (1:18)']);
  });
});

describe('__typename', () => {
  test('everywhere', async () => {
    const query = `{
      __typename
      Patient(id: 1) { __typename kind: __typename name(_count: 1) { __typename } contact { __typename } }
      Observation(id: 1) { subject { __typename resource { __typename } } }
      PatientConnection(_count: 1) { __typename edges { __typename resource { __typename } } }
    }`;
    expect(await clinic.data(query)).toEqual({
      __typename: 'Query',
      Patient: {
        __typename: 'Patient',
        kind: 'Patient',
        name: [{ __typename: 'HumanName' }],
        contact: [{ __typename: 'PatientContact' }],
      },
      Observation: { subject: { __typename: 'Reference', resource: { __typename: 'Patient' } } },
      PatientConnection: {
        __typename: 'PatientConnection',
        edges: [{ __typename: 'PatientConnectionEdge', resource: { __typename: 'Patient' } }],
      },
    });
  });
});

describe('aliases and fragments', () => {
  test('keys have the order of the document, with fragments at their spread', async () => {
    const query = `{
      b: Patient(id: 1) { z: gender ...more a: id }
      a: Patient(id: 1) { ...more }
    }
    fragment more on Patient { m: active ... on Patient { n: active } ... { o: active } }`;
    expect(JSON.stringify(await clinic.data(query))).toBe(
      '{"b":{"z":"female","m":true,"n":true,"o":true,"a":"1"},"a":{"m":true,"n":true,"o":true}}',
    );
  });

  test('equal keys are merged, at every depth', async () => {
    const query = `{
      Patient(id: 1) { name { family } }
      Patient(id: 1) { name { given } ...text }
    }
    fragment text on Patient { name { text } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: {
        name: [
          { family: 'Hill', given: ['Ann', 'Bea'], text: null },
          { family: null, given: null, text: 'Annie' },
        ],
      },
    });
  });

  test('a fragment on Resource applies to every resource', async () => {
    const query = `{ Patient(id: 1) { ...common } Observation(id: 1) { ...common subject { resource { ...common } } } }
      fragment common on Resource { id resourceType }`;
    expect(await clinic.data(query)).toEqual({
      Patient: { id: '1', resourceType: 'Patient' },
      Observation: {
        id: '1',
        resourceType: 'Observation',
        subject: { resource: { id: '1', resourceType: 'Patient' } },
      },
    });
  });

  test.each([
    ['{ Patient(id: 1) { ... on Observation { id } } }', 'Fragment cannot be spread here'],
    ['{ Patient(id: 1) { ...f } } fragment f on HumanName { id }', 'Fragment "f" cannot be spread here'],
    ['{ Patient(id: 1) { ... on Patiant { id } } }', 'Unknown type "Patiant". Did you mean "Patient"'],
    ['{ Patient(id: 1) { ...f } }', 'Unknown fragment "f".'],
    ['{ Patient(id: 1) { id } } fragment f on Patient { id }', 'Fragment "f" is never used.'],
    ['{ Patient(id: 1) { id(a: 1) } }', 'Unknown argument "a" on field "Patient.id".'],
    ['{ Patient(id: 1) { gendr } }', 'Cannot query field "gendr" on type "Patient". Did you mean "gender"'],
    ['{ Patient(id: 1) { name } }', 'Field "name" of type "[HumanName]" must have a selection of subfields.'],
    ['{ Patient(id: 1) { id { a } } }', 'Field "id" must not have a selection since type "ID" has no subfields.'],
    ['{ Patinet(id: 1) { id } }', 'Cannot query field "Patinet" on type "Query". Did you mean "Patient"'],
  ])('an impossible selection is refused: %s', async (query, message) => {
    const result = await clinic.ask(query);
    expect(messages(result)[0]).toContain(message);
    expect(failures(result)[0]).toMatch(/^invalid \(1:\d+\)$/);
    expect(result).not.toHaveProperty('data');
  });
});

describe('@skip and @include', () => {
  const query = `query($a: Boolean!, $b: Boolean = true) {
    Patient(id: 1) {
      id
      active @include(if: $a)
      gender @skip(if: $a) @include(if: $b)
      ... @include(if: $b) { birthDate }
      ...name @skip(if: $b)
    }
  }
  fragment name on Patient { name(_count: 1) { family } }`;
  const all = { active: true, gender: 'female', birthDate: '1970-01-02', name: [{ family: 'Hill' }] };

  test.each<[boolean, boolean | undefined, (keyof typeof all)[]]>([
    [true, true, ['active', 'birthDate']],
    [true, false, ['active', 'name']],
    [false, true, ['gender', 'birthDate']],
    [false, false, ['name']],
    [false, undefined, ['gender', 'birthDate']],
    [true, true, ['active', 'birthDate']],
  ])('with variables: a %s, b %s', async (a, b, kept) => {
    const variables = b === undefined ? { a } : { a, b };
    const expected = Object.fromEntries(kept.map((key) => [key, all[key]]));
    expect(await clinic.data(query, variables)).toEqual({ Patient: { id: '1', ...expected } });
  });

  test('null is an error where a default allows a nullable variable', async () => {
    for (const variables of [
      { a: true, b: null },
      { a: false, b: null },
    ]) {
      const result = await clinic.ask(query, variables);
      expect(failures(result)).toEqual(['invalid (1:21)']);
      expect(messages(result)).toEqual(['Variable "$b" decides "@skip" or "@include" and must not be null.']);
      expect(result).not.toHaveProperty('data');
    }
    // Null in another variable stays what it is.
    const other =
      'query($b: Boolean = true, $n: [String]) { PatientList(name: $n, _count: 1) { id @include(if: $b) } }';
    expect(await clinic.data(other, { n: null })).toEqual({ PatientList: [{ id: '1' }] });
  });

  test('with literals', async () => {
    const text = `{ Patient(id: 1) {
      id @skip(if: false) active @skip(if: true) gender @include(if: false) birthDate @include(if: true)
    } }`;
    expect(await clinic.data(text)).toEqual({ Patient: { id: '1', birthDate: '1970-01-02' } });
  });

  test('a field that is skipped makes no store call and no error', async () => {
    const text = '{ Patient(id: "nobody") @skip(if: true) { id } __typename }';
    expect(await clinic.ask(text)).toEqual({ data: { __typename: 'Query' } });
  });

  test('a selection without remaining fields is an empty object', async () => {
    expect(await clinic.data('{ Patient(id: 1) { id @skip(if: true) } }')).toEqual({ Patient: {} });
  });

  test('one of several occurrences is enough', async () => {
    expect(await clinic.data('{ Patient(id: 1) { id @skip(if: true) id } }')).toEqual({ Patient: { id: '1' } });
  });

  test('a condition without value is refused', async () => {
    const result = await clinic.ask(query, {});
    expect(failures(result)).toEqual(['invalid (1:7)']);
    expect(messages(result)[0]).toMatch(/^Variable "\$a" .*"Boolean!"/);
  });

  test('an operation with more conditions than possible plans is refused', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `v${index}`);
    const text = `query(${names.map((name) => `$${name}: Boolean!`).join(' ')}) {
      Patient(id: 1) { ${names.map((name) => `${name}: id @include(if: $${name})`).join(' ')} }
    }`;
    const variables = Object.fromEntries(names.map((name, index) => [name, index === 150]));
    expect(await clinic.data(text, variables)).toEqual({ Patient: { v150: '1' } });
  });
});

describe('invalid stored data', () => {
  test('uses a single value as a list; a value of another type is null and an error', async () => {
    const { ask } = await openClinic([
      {
        resourceType: 'Patient',
        id: '1',
        active: { value: true },
        birthDate: ['1970'],
        name: { family: 'Hill', given: 'Ann' },
        telecom: ['one', null, { value: 'two' }, [{ value: 'three' }]],
        maritalStatus: 'single',
        contact: null,
      },
    ]);
    const query = `{ Patient(id: 1) {
      active birthDate name { family given } telecom { value } maritalStatus { text } contact { gender }
    } }`;
    const result = await ask(query);
    expect(result.data).toEqual({
      Patient: {
        active: null,
        birthDate: null,
        name: [{ family: 'Hill', given: ['Ann'] }],
        telecom: [null, null, { value: 'two' }, null],
        maritalStatus: null,
        contact: null,
      },
    });
    expect(failures(result)).toEqual([
      'unprocessable at Patient.active (2:7)',
      'unprocessable at Patient.birthDate (2:14)',
      'unprocessable at Patient.telecom.0 (2:46)',
      'unprocessable at Patient.telecom.3 (2:46)',
      'unprocessable at Patient.maritalStatus (2:64)',
    ]);
  });
});
