import { MemoryStore } from '../../../src/index.js';
import { R4 } from '../../../src/store.js';
import { describe, expect, test } from 'vitest';
import { inputFieldsOf, inputTypeName, typeOfInput } from '../../../src/graphql/schema/input-fields.js';
import { failures, messages } from '../harness.js';
import { openClinic } from './harness.js';

const WHOLE = {
  resourceType: 'Patient',
  active: true,
  name: [{ use: 'official', family: 'Hill', given: ['Ann', null], _given: [null, { id: 'second' }] }],
  birthDate: '2001-02-03',
  _birthDate: { extension: [{ url: 'http://x/time', valueDateTime: '2001-02-03T04:05:06Z' }] },
  multipleBirthInteger: 2,
  contact: [{ relationship: [{ text: 'mother' }], name: { family: 'Hill' } }],
  contained: [{ resourceType: 'Organization', id: 'o', name: 'Contained' }],
  managingOrganization: { reference: '#o' },
  extension: [{ url: 'http://x/quantity', valueQuantity: { value: 1.5, unit: 'kg' } }],
};

const LITERAL = `{
  resourceType: "Patient", active: true
  name: [{ use: official, family: "Hill", given: ["Ann", null], _given: [null, { id: "second" }] }]
  birthDate: "2001-02-03"
  _birthDate: { extension: [{ url: "http://x/time", valueDateTime: "2001-02-03T04:05:06Z" }] }
  multipleBirthInteger: 2
  contact: [{ relationship: [{ text: "mother" }], name: { family: "Hill" } }]
  contained: [{ resourceType: "Organization", id: "o", name: "Contained" }]
  managingOrganization: { reference: "#o" }
  extension: [{ url: "http://x/quantity", valueQuantity: { value: 1.5, unit: "kg" } }]
}`;

/** The stored resource, without the elements that the store adds. */
async function stored(mutation: string, variables = {}): Promise<unknown> {
  const clinic = await openClinic(new MemoryStore());
  await clinic.data(mutation, variables);
  const {
    id: _id,
    meta: _meta,
    ...content
  } = (await clinic.trusted.read('Patient', 'p')) as unknown as Record<string, unknown>;
  return content;
}

describe('a resource is stored as sent', () => {
  test('as a literal', async () => {
    expect(await stored(`mutation { PatientUpdate(id: "p", res: ${LITERAL}) { id } }`)).toEqual(WHOLE);
  });

  test('as a variable', async () => {
    expect(
      await stored('mutation ($res: PatientInput!) { PatientUpdate(id: "p", res: $res) { id } }', { res: WHOLE }),
    ).toEqual(WHOLE);
  });

  test('as the default of a variable', async () => {
    expect(
      await stored(`mutation ($res: PatientInput! = ${LITERAL}) { PatientUpdate(id: "p", res: $res) { id } }`),
    ).toEqual(WHOLE);
  });

  test('as variables within a literal', async () => {
    const mutation = `mutation ($family: String!, $given: [String], $id: ID, $name: HumanNameInput, $inside: ResourceInput, $no: String, $number: Int, $yes: Boolean) {
      PatientUpdate(id: "p", res: {
        active: $yes, gender: $no, multipleBirthInteger: $number
        name: [{ family: $family, given: $given, id: $id }, $name]
        contained: [$inside, { resourceType: "Basic", code: { text: $family } }]
      }) { id }
    }`;
    const inside = { resourceType: 'Basic', id: 'b' };
    const variables = { family: 'Hill', given: ['Ann'], id: 7, name: { family: 'Two' }, inside, number: 2, yes: false };
    expect(await stored(mutation, variables)).toEqual({
      resourceType: 'Patient',
      active: false,
      multipleBirthInteger: 2,
      name: [{ family: 'Hill', given: ['Ann'], id: '7' }, { family: 'Two' }],
      contained: [inside, { resourceType: 'Basic', code: { text: 'Hill' } }],
    });
  });

  test('with single values for lists, tokens for strings, and without nulls', async () => {
    const literal = '{ name: { family: "Hill", given: Ann }, gender: female, birthDate: null, telecom: null }';
    const expected = { resourceType: 'Patient', name: [{ family: 'Hill', given: ['Ann'] }], gender: 'female' };
    expect(await stored(`mutation { PatientUpdate(id: "p", res: ${literal}) { id } }`)).toEqual(expected);
    const res = { name: { family: 'Hill', given: 'Ann' }, gender: 'female', birthDate: null, telecom: undefined };
    expect(
      await stored('mutation ($res: PatientInput!) { PatientUpdate(id: "p", res: $res) { id } }', { res }),
    ).toEqual(expected);
    const name = { family: 'Hill', given: 'Ann' };
    const mutation =
      'mutation ($name: HumanNameInput) { PatientUpdate(id: "p", res: { name: $name, gender: female }) { id } }';
    expect(await stored(mutation, { name })).toEqual(expected);
  });

  test('in the same order', async () => {
    const content = await stored(
      `mutation { PatientUpdate(id: "p", res: { gender: male, active: true, name: [] }) { id } }`.replace(
        ', name: []',
        '',
      ),
    );
    expect(Object.keys(content as object)).toEqual(['resourceType', 'gender', 'active']);
  });
});

describe('an invalid value is refused, without any of its content', () => {
  test.each([
    ['{ nam: "Secret" }', 'Field "nam" is not defined by type "PatientInput". Did you mean "name"?'],
    ['{ name: [{ famly: "Secret" }] }', 'Field "famly" is not defined by type "HumanNameInput". Did you mean "family"'],
    ['{ birthDate: { x: "Secret" } }', 'Expected text, a value of type "String".'],
    ['{ birthDate: 1999 }', 'Expected text, a value of type "String".'],
    ['{ active: "Secret" }', 'Expected true or false, a value of type "Boolean".'],
    ['{ multipleBirthInteger: 99999999999 }', 'Expected a whole number of 32 bits, a value of type "Int".'],
    ['{ name: "Secret" }', 'Expected an object of type "HumanNameInput".'],
    ['{ maritalStatus: [{ text: "Secret" }] }', 'Expected an object of type "CodeableConceptInput".'],
    ['{ contained: ["Secret"] }', 'Expected a resource as a JSON object, a value of type "ResourceInput".'],
    ['"Secret"', 'Expected an object of type "PatientInput".'],
    ['null', 'Expected a value of type "PatientInput", not null.'],
    ['{ __proto__: "Secret" }', 'Field "__proto__" is not defined by type "PatientInput".'],
    ['{ constructor: "Secret" }', 'Field "constructor" is not defined by type "PatientInput".'],
    ['{ resource: "Secret" }', 'Field "resource" is not defined by type "PatientInput".'],
    ['{ ObservationList: "Secret" }', 'Field "ObservationList" is not defined by type "PatientInput".'],
  ])('in a literal: %s', async (res, message) => {
    const clinic = await openClinic(new MemoryStore());
    for (const dialect of ['standard', 'hl7'] as const) {
      const result = await clinic.ask(`mutation { PatientCreate(res: ${res}) { id } }`, {}, { dialect });
      expect(messages(result)).toEqual([expect.stringContaining(message)]);
      expect(failures(result)).toEqual([expect.stringMatching(/^invalid \(1:\d+\)$/)]);
      expect(JSON.stringify(result)).not.toMatch(/Secret|1999|99999999999/);
    }
    expect(await clinic.ids('Patient')).toEqual([]);
  });

  test.each([
    [{ nam: 'Secret' }, 'Variable "$res": field "nam" is not defined by type "PatientInput". Did you mean "name"?'],
    [
      { name: [{}, { famly: 'Secret' }] },
      'Variable "$res" at "name[1]": field "famly" is not defined by type "HumanNameInput".',
    ],
    [{ contact: { name: { family: 1999 } } }, 'Variable "$res" at "contact[0].name.family": expected text'],
    [{ active: 'Secret' }, 'Variable "$res" at "active": expected true or false'],
    [{ multipleBirthInteger: 1.5 }, 'Variable "$res" at "multipleBirthInteger": expected a whole number of 32 bits'],
    [{ name: ['Secret'] }, 'Variable "$res" at "name[0]": expected an object of type "HumanNameInput"'],
    [{ maritalStatus: [{}] }, 'Variable "$res" at "maritalStatus": expected an object of type "CodeableConceptInput"'],
    [{ contained: 'Secret' }, 'Variable "$res" at "contained[0]": expected a resource as a JSON object'],
    ['Secret', 'Variable "$res": expected an object of type "PatientInput"'],
    [[{}], 'Variable "$res": expected an object of type "PatientInput"'],
    [null, 'Variable "$res" must be given and not be null.'],
    [undefined, 'Variable "$res" must be given and not be null.'],
    [JSON.parse('{"__proto__": {"active": true}}'), 'Variable "$res": field "__proto__" is not defined'],
    [{ constructor: 'Secret' }, 'Variable "$res": field "constructor" is not defined by type "PatientInput".'],
  ])('in a variable: %j', async (res, message) => {
    const clinic = await openClinic(new MemoryStore());
    const result = await clinic.ask('mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }', { res });
    expect(messages(result)).toEqual([expect.stringContaining(message)]);
    expect(failures(result)).toEqual(['invalid (1:11)']);
    expect(JSON.stringify(result)).not.toMatch(/Secret|1999/);
    expect(await clinic.ids('Patient')).toEqual([]);
  });

  test.each([
    ['$v: String', '{ active: $v }'],
    ['$v: Boolean', '{ birthDate: $v }'],
    ['$v: Float', '{ multipleBirthInteger: $v }'],
    ['$v: HumanNameInput', '{ contact: { address: $v } }'],
    ['$v: [String]', '{ birthDate: $v }'],
    ['$v: PatientInput', '{ name: $v }'],
    ['$v: PatientInput', '$v'],
    ['$v: Patient!', '$v'],
    ['$v: JSON!', '$v'],
  ])('a variable %s cannot be used in %s', async (declared, res) => {
    const clinic = await openClinic(new MemoryStore());
    const result = await clinic.ask(`mutation (${declared}) { PatientCreate(res: ${res}) { id } }`, { v: null });
    expect(failures(result)[0]).toMatch(/^invalid \(/);
    expect(result).not.toHaveProperty('data');
  });

  test('a value that nests without limit', async () => {
    const clinic = await openClinic(new MemoryStore());
    let extension: object = { url: 'x' };
    for (let depth = 0; depth < 100_000; depth += 1) extension = { url: 'x', extension: [extension] };
    const mutation = 'mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }';
    for (const res of [
      { extension: [extension] },
      { contained: [{ resourceType: 'Basic', extension: [extension] }] },
    ]) {
      expect(failures(await clinic.ask(mutation, { res }))).toEqual(['too-costly']);
    }
    const levels = (count: number): object =>
      Array.from({ length: count }).reduce<object>((inner) => ({ url: 'x', extension: inner }), { url: 'x' });
    const inside = 'mutation ($e: ExtensionInput!) { PatientCreate(res: { extension: LITERAL }) { id } }'.replace(
      'LITERAL',
      '{ url: "x", extension: '.repeat(20) + '$e' + ' }'.repeat(20),
    );
    expect(failures(await clinic.ask(inside, { e: levels(20) }))).toEqual([]);
    const refused = await clinic.ask(inside, { e: levels(90) });
    expect(failures(refused)).toEqual(['invalid at PatientCreate (1:34)']);
    expect(messages(refused)).toEqual([expect.stringContaining('nests deeper than 100 levels')]);
  });

  test('a thousand errors are reported by the first of them', async () => {
    const clinic = await openClinic(new MemoryStore());
    const name = Array.from({ length: 1000 }, () => ({ famly: 'x' }));
    const result = await clinic.ask('mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }', {
      res: { name },
    });
    expect(result.errors).toHaveLength(20);
  });

  test('JSON that names prototypes does nothing', async () => {
    const clinic = await openClinic(new MemoryStore());
    const literal = '{ contained: [{ resourceType: "Basic", __proto__: { polluted: true } }] }';
    const result = await clinic.ask(`mutation { PatientCreate(res: ${literal}) { id } }`);
    expect(failures(result)).toEqual(['invalid at PatientCreate (1:12)']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('the input types', () => {
  test('have names of their own, derived from their types', () => {
    expect(inputTypeName(R4, 'HumanName')).toBe('HumanNameInput');
    expect(inputTypeName(R4, 'PatientContact')).toBe('PatientContactInput');
    expect(inputTypeName(R4, 'Task')).toBe('TaskResourceInput');
    expect(inputTypeName(R4, 'TaskInput')).toBe('TaskInputInput');
    expect(inputTypeName(R4, 'code')).toBe('String');
    for (const type of R4.resourceTypes) expect(typeOfInput(R4, inputTypeName(R4, type))).toBe(type);
    for (const name of ['Patient', 'TaskInput', 'StringInput', 'ResourceInput', 'Input', 'constructor']) {
      expect(inputFieldsOf(R4, name)).toBeUndefined();
    }
  });

  test('types with names that were taken can be written too', async () => {
    const clinic = await openClinic(new MemoryStore());
    const task = '{ status: requested, intent: order, input: { type: { text: "x" }, valueString: "y" } }';
    expect(await clinic.data(`mutation { TaskUpdate(id: t, res: ${task}) { id input { valueString } } }`)).toEqual({
      TaskUpdate: { id: 't', input: [{ valueString: 'y' }] },
    });
  });
});

describe('the names of Medplum', () => {
  test('are names of the same input types, also in updates and inside', async () => {
    const clinic = await openClinic(new MemoryStore());
    const created = await clinic.data('mutation ($res: PatientCreate!) { PatientCreate(res: $res) { id gender } }', {
      res: { resourceType: 'Patient', gender: 'female' },
    });
    const { id } = (created as { PatientCreate: { id: string } }).PatientCreate;
    const update = `mutation ($id: ID!, $res: PatientCreate!) { PatientUpdate(id: $id, res: $res) { gender name { family } } }`;
    const res = { resourceType: 'Patient', id, gender: 'male', name: [{ family: 'Hill' }] };
    expect(await clinic.data(update, { id, res })).toEqual({
      PatientUpdate: { gender: 'male', name: [{ family: 'Hill' }] },
    });
    const nested = 'mutation ($name: [HumanNameCreate!]) { PatientCreate(res: { name: $name }) { name { family } } }';
    expect(await clinic.data(nested, { name: [{ family: 'Brook' }] })).toEqual({
      PatientCreate: { name: [{ family: 'Brook' }] },
    });
  });

  test.each(['NothingCreate', 'Create', 'stringCreate', 'DomainResourceCreate'])('%s is not a type', async (name) => {
    const clinic = await openClinic(new MemoryStore());
    const answer = await clinic.ask(`mutation ($res: ${name}!) { PatientCreate(res: $res) { id } }`, { res: {} });
    expect(answer.errors?.[0]?.message).toContain(`Unknown type "${name}"`);
  });
});
