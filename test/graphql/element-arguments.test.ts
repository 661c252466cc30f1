import { beforeAll, describe, expect, test } from 'vitest';
import { failures, messages, openClinic, type Clinic } from './harness.js';

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    {
      resourceType: 'Patient',
      id: '1',
      name: [
        { use: 'official', family: 'Hill', given: ['Ann', 'Bea'] },
        { use: 'nickname', given: ['Annie'] },
        { use: 'old', family: 'Dale', given: ['Ann'] },
        { text: 'A. Hill' },
      ],
      telecom: [
        { system: 'phone', value: '1', rank: 1 },
        { system: 'email', value: 'true', rank: 2 },
        { system: 'phone', value: '2', rank: 2 },
      ],
      communication: [{ preferred: true, language: { text: 'en' } }, { preferred: false }, {}],
      extension: [
        { url: 'urn:a', valueInteger: 1 },
        { url: 'urn:b', valueDecimal: 1.5 },
        { url: 'urn:a', valueString: 'x' },
        { url: 'urn:c', valueBoolean: false },
        { url: 'urn:d', extension: [{ url: 'in', valueCode: 'y' }] },
      ],
    },
  ]);
});

async function names(args: string, variables?: { [name: string]: unknown }, definitions = ''): Promise<unknown> {
  const query = `query${definitions} { Patient(id: 1) { name(${args}) { use } } }`;
  const data = (await clinic.data(query, variables)) as { Patient: { name: { use: string | null }[] | null } };
  return data.Patient.name?.map(({ use }) => use);
}

describe('equality', () => {
  test.each([
    ['use: official', ['official']],
    ['use: "official"', ['official']],
    ['use: "Official"', []],
    ['family: "Hill"', ['official']],
    ['family: Hill', ['official']],
    ['family: "Hil"', []],
    ['given: "Ann"', ['official', 'old']],
    ['given: "Annie"', ['nickname']],
    ['text: "A. Hill"', [null]],
    ['family: "Hill", given: "Bea"', ['official']],
    ['family: "Dale", given: "Bea"', []],
    ['use: "official,old"', []],
    ['use: null', ['official', 'nickname', 'old', null]],
    ['use: null, family: "Dale"', ['old']],
  ])('name(%s)', async (args, kept) => {
    expect(await names(args)).toEqual(kept);
  });

  test.each([
    ['telecom(rank: 2) { value }', { telecom: [{ value: 'true' }, { value: '2' }] }],
    ['telecom(system: phone, rank: 2) { value }', { telecom: [{ value: '2' }] }],
    ['telecom(value: "1") { system }', { telecom: [{ system: 'phone' }] }],
    ['telecom(value: 1) { system }', { telecom: [] }],
    ['telecom(value: true) { system }', { telecom: [] }],
    ['communication(preferred: true) { language { text } }', { communication: [{ language: { text: 'en' } }] }],
    ['communication(preferred: false) { language { text } }', { communication: [{ language: null }] }],
    ['extension(valueInteger: 1) { url }', { extension: [{ url: 'urn:a' }] }],
    ['extension(valueDecimal: 1.50) { url }', { extension: [{ url: 'urn:b' }] }],
    ['extension(valueBoolean: false) { url }', { extension: [{ url: 'urn:c' }] }],
    ['extension(url: "urn:a", valueString: "x") { url }', { extension: [{ url: 'urn:a' }] }],
    ['photo(title: "x") { url }', { photo: null }],
  ])('keeps the type: %s', async (selection, expected) => {
    expect(await clinic.data(`{ Patient(id: 1) { ${selection} } }`)).toEqual({ Patient: expected });
  });
});

describe('variables', () => {
  test.each([
    ['String', 'old', ['old']],
    ['String!', 'old', ['old']],
    ['[String]', ['old', 'nickname'], ['nickname', 'old']],
    ['[String!]!', ['old'], ['old']],
    ['[String]', [], []],
    ['ID', 'old', ['old']],
    ['String', null, ['official', 'nickname', 'old', null]],
    ['String', undefined, ['official', 'nickname', 'old', null]],
    ['String = "old"', undefined, ['old']],
  ])('name(use: $use) with $use: %s of %j', async (type, use, kept) => {
    expect(await names('use: $use', use === undefined ? {} : { use }, `($use: ${type})`)).toEqual(kept);
  });

  test('pages and fhirpath', async () => {
    const definitions = '($from: Int, $many: Int, $that: String)';
    const args = '_offset: $from, _count: $many, fhirpath: $that';
    const given = { from: 1, many: 1, that: 'family.exists()' };
    expect(await names(args, given, definitions)).toEqual(['old']);
    expect(await names(args, {}, definitions)).toEqual(['official', 'nickname', 'old', null]);
  });
});

describe('fhirpath', () => {
  test.each([
    ['fhirpath: "use = \'old\'"', ['old']],
    ['fhirpath: "family.exists()"', ['official', 'old']],
    ['fhirpath: "family.empty()"', ['nickname', null]],
    ['fhirpath: "given contains \'Ann\'"', ['official', 'old']],
    ['fhirpath: "family"', []],
    ['fhirpath: "given"', []],
    ['fhirpath: "{}"', []],
    ['fhirpath: "%resource.id = \'1\'"', ['official', 'nickname', 'old', null]],
    ['given: "Ann", fhirpath: "use != \'old\'"', ['official']],
    ['fhirpath: null', ['official', 'nickname', 'old', null]],
  ])('name(%s)', async (args, kept) => {
    expect(await names(args)).toEqual(kept);
  });

  test.each([
    ['"family ="', 'invalid'],
    ['"nothing()"', 'invalid'],
    [`"${'('.repeat(300)}"`, 'too-costly'],
    [`"${'a'.repeat(5000)}"`, 'too-costly'],
  ])('a bad expression is null and an error: %s', async (expression, code) => {
    const result = await clinic.ask(`{ Patient(id: 1) {\n  id\n  bad: name(fhirpath: ${expression}) { use } } }`);
    expect(result.data).toEqual({ Patient: { id: '1', bad: null } });
    expect(failures(result)).toEqual([`${code} at Patient.bad (3:3)`]);
  });

  test('a bad expression on an absent element does no harm', async () => {
    expect(await clinic.data('{ Patient(id: 1) { photo(fhirpath: "(") { url } } }')).toEqual({
      Patient: { photo: null },
    });
  });
});

describe('_offset and _count, after the filters', () => {
  test.each([
    ['_count: 2', ['official', 'nickname']],
    ['_count: 0', []],
    ['_count: 99', ['official', 'nickname', 'old', null]],
    ['_offset: 2', ['old', null]],
    ['_offset: 9', []],
    ['_offset: 1, _count: 2', ['nickname', 'old']],
    ['given: "Ann", _offset: 1', ['old']],
    ['given: "Ann", _count: 1', ['official']],
    ['fhirpath: "family.exists()", _offset: 1, _count: 1', ['old']],
    ['_count: null, _offset: null', ['official', 'nickname', 'old', null]],
  ])('name(%s)', async (args, kept) => {
    expect(await names(args)).toEqual(kept);
  });

  test.each(['_count: -1', '_offset: -1'])('%s is null and an error', async (args) => {
    const result = await clinic.ask(`{ Patient(id: 1) { name(${args}) { use } } }`);
    expect(result.data).toEqual({ Patient: { name: null } });
    expect(failures(result)).toEqual(['invalid at Patient.name (1:20)']);
  });

  test.each(['_count: 1.5', '_count: "1"', '_count: 99999999999', '_offset: true'])('%s is refused', async (args) => {
    const result = await clinic.ask(`{ Patient(id: 1) { name(${args}) { use } } }`);
    expect(failures(result)).toEqual([expect.stringMatching(/^invalid \(1:\d+\)$/)]);
    expect(messages(result)[0]).toMatch(/^Int cannot represent /);
  });
});

test('several filtered views of one element, under aliases', async () => {
  const query = `{ Patient(id: 1) {
    official: name(use: official) { family }
    short: name(use: nickname) { given }
    all: name { use }
  } }`;
  expect(await clinic.data(query)).toEqual({
    Patient: {
      official: [{ family: 'Hill' }],
      short: [{ given: ['Annie'] }],
      all: [{ use: 'official' }, { use: 'nickname' }, { use: 'old' }, { use: null }],
    },
  });
});

describe('a field without such an argument', () => {
  test.each([
    ['a primitive', '{ Patient(id: 1) { birthDate(_count: 1) } }'],
    ['a repeating primitive', '{ Patient(id: 1) { name { given(_count: 1) } } }'],
    ['a single object', '{ Patient(id: 1) { maritalStatus(text: "x") { text } } }'],
    ['a complex sub-element', '{ Patient(id: 1) { name(period: "x") { use } } }'],
    ['an unknown sub-element', '{ Patient(id: 1) { name(famly: "x") { use } } }'],
  ])('%s', async (_, query) => {
    const result = await clinic.ask(query);
    expect(failures(result)).toEqual([expect.stringMatching(/^invalid \(1:\d+\)$/)]);
    expect(messages(result)[0]).toMatch(/^Unknown argument /);
  });

  test('has a helpful suggestion', async () => {
    expect(messages(await clinic.ask('{ Patient(id: 1) { name(famly: "x") { use } } }'))).toEqual([
      'Unknown argument "famly" on field "HumanName.name". Did you mean "family"?'.replace('HumanName', 'Patient'),
    ]);
  });
});
