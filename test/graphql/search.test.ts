import { beforeAll, describe, expect, test } from 'vitest';
import { failures, messages, openClinic, type Clinic } from './harness.js';

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    {
      resourceType: 'Patient',
      id: 'a',
      active: true,
      gender: 'female',
      birthDate: '1970-05-01',
      name: [{ family: 'Hill', given: ['Ann'] }],
      address: [{ city: 'Bern' }],
    },
    {
      resourceType: 'Patient',
      id: 'b',
      active: false,
      gender: 'male',
      birthDate: '1980-05-01',
      name: [{ family: 'Hillman', given: ['Bob'] }],
      address: [{ city: 'Basel' }],
    },
    { resourceType: 'Patient', id: 'c', gender: 'male', birthDate: '1990-05-01', name: [{ family: 'Dale, Sir' }] },
    { resourceType: 'RiskAssessment', id: 'r1', prediction: [{ probabilityDecimal: 0.8 }] },
    { resourceType: 'RiskAssessment', id: 'r2', prediction: [{ probabilityDecimal: 0.84 }] },
  ]);
});

async function ids(args: string, variables?: { [name: string]: unknown }, definitions = ''): Promise<string[]> {
  const query = `query${definitions} { PatientList(${args}) { id } }`;
  const data = (await clinic.data(query, variables)) as { PatientList: { id: string }[] };
  return data.PatientList.map(({ id }) => id);
}

describe('parameters', () => {
  test.each([
    ['name: "hill"', ['a', 'b']],
    ['name: hill', ['a', 'b']],
    ['address_city: "Be"', ['a']],
    ['gender: male', ['b', 'c']],
    ['active: true', ['a']],
    ['active: "true"', ['a']],
    ['active: false', ['b']],
    ['birthdate: "ge1980"', ['b', 'c']],
    ['name: "hill", gender: male', ['b']],
    ['name: "hill", address_city: "Be", gender: female', ['a']],
    ['name: "nobody"', []],
    ['_id: "a"', ['a']],
  ])('combine with AND: %s', async (args, found) => {
    expect(await ids(args)).toEqual(found);
  });

  test.each([
    ['name: ["dale", "bob"]', ['b', 'c']],
    ['name: "dale,bob"', ['b', 'c']],
    ['name: ["dale,ann", "bob"]', ['a', 'b', 'c']],
    ['name: "Dale\\\\, Sir"', ['c']],
    ['_id: ["a", "c", "x"]', ['a', 'c']],
    ['gender: [male, female], active: [true, false]', ['a', 'b']],
    ['birthdate: ["1970", "gt1989"]', ['a', 'c']],
  ])('lists and commas mean OR: %s', async (args, found) => {
    expect(await ids(args)).toEqual(found);
  });

  test.each([
    ['name: null', ['a', 'b', 'c']],
    ['name: null, gender: male', ['b', 'c']],
    ['_filter: "gender eq male and birthdate gt 1985"', ['c']],
    ['_filter: "name co \\"ill\\"", active: true', ['a']],
    ['_filter: ["active eq true", "name eq dale"]', ['a']],
    ['fhirpath: "name.given.exists()"', ['a', 'b']],
    ['gender: male, fhirpath: "active = false"', ['b']],
  ])('null, _filter and fhirpath: %s', async (args, found) => {
    expect(await ids(args)).toEqual(found);
  });

  test('numbers have the precision of their text', async () => {
    const query = `{
      rough: RiskAssessmentList(probability: 0.8) { id }
      fine: RiskAssessmentList(probability: 0.80) { id }
      power: RiskAssessmentList(probability: 8e-1) { id }
    }`;
    expect(await clinic.data(query)).toEqual({
      rough: [{ id: 'r1' }, { id: 'r2' }],
      fine: [{ id: 'r1' }],
      power: [{ id: 'r1' }],
    });
  });
});

describe('variables', () => {
  test.each([
    ['String', 'hill', ['a', 'b']],
    ['String!', 'dale', ['c']],
    ['[String]', ['dale', 'bob'], ['b', 'c']],
    ['[String!]!', ['dale'], ['c']],
    ['[String]', ['dale', null], ['c']],
    ['[String]', 'dale', ['c']],
    ['ID', 'dale', ['c']],
    ['String', null, ['a', 'b', 'c']],
    ['String', undefined, ['a', 'b', 'c']],
    ['String = "dale"', undefined, ['c']],
    ['[String] = ["dale", "bob"]', undefined, ['b', 'c']],
  ])('name: $v, of type %s with %j', async (type, v, found) => {
    expect(await ids('name: $v', v === undefined ? {} : { v }, `($v: ${type})`)).toEqual(found);
  });

  test.each([
    ['active: $v', 'Boolean', true, ['a']],
    ['active: $v', '[Boolean!]', [true, false], ['a', 'b']],
    ['birthdate: $v', 'Int', 1980, ['b']],
    ['name: [$v, "bob"]', 'String', 'dale', ['b', 'c']],
    ['name: [$v]', 'String', undefined, []],
    ['_sort: $v', 'String', '-birthdate', ['c', 'b', 'a']],
    ['_sort: $v', '[String]', ['gender', '-birthdate'], ['a', 'c', 'b']],
    ['_count: $v', 'Int', 2, ['a', 'b']],
    ['_offset: $v', 'Int!', 2, ['c']],
    ['fhirpath: $v', 'String', 'active', ['a']],
    ['_filter: $v', 'String', 'active eq true', ['a']],
  ])('%s as %s %j', async (args, type, v, found) => {
    expect(await ids(args, v === undefined ? {} : { v }, `($v: ${type})`)).toEqual(found);
  });

  test.each([
    ['String', 7],
    ['String', { name: 'dale' }],
    ['[String]', [['dale']]],
    ['Int', 'x'],
    ['Int', 2 ** 40],
    ['Boolean', 'true'],
    ['String!', null],
    ['ResourceTypeName', { toString: 'x' }],
    ['SearchParameterName', [{}]],
  ])('a value of another type is refused: %s %j', async (type, v) => {
    const result = await clinic.ask(`query($v: ${type}) { PatientList(name: $v) { id } }`, { v });
    expect(failures(result)).toEqual([expect.stringMatching(/^invalid \(1:\d+\)$/)]);
    expect(result).not.toHaveProperty('data');
  });

  test.each([
    ['query($v: Patient) { PatientList(name: $v) { id } }', 'Variable "$v" cannot be non-input type "Patient".'],
    ['query($v: [[String]]) { PatientList(name: $v) { id } }', 'used in position expecting type'],
    ['query($v: String) { PatientList(_count: $v) { id } }', 'used in position expecting type "Int"'],
    ['query($v: String) { PatientList(name: $w) { id } }', 'Variable "$w" is not defined'],
    ['query($v: String) { PatientList { id } }', 'Variable "$v" is never used'],
    ['query($v: Nothing) { PatientList(name: $v) { id } }', 'Unknown type "Nothing".'],
    ['query($v: Int = "x") { PatientList(_count: $v) { id } }', 'Int cannot represent non-integer value: "x"'],
  ])('an invalid variable is refused: %s', async (query, message) => {
    const result = await clinic.ask(query, { v: 'x' });
    expect(messages(result).join()).toContain(message);
    expect(result).not.toHaveProperty('data');
  });

  test('extra variables are ignored', async () => {
    expect(await clinic.data('{ PatientList(_id: "a") { id } }', { more: 1 })).toEqual({ PatientList: [{ id: 'a' }] });
  });

  test('variables must be an object', async () => {
    for (const variables of [[1], 'x', 7]) {
      expect(failures(await clinic.ask('{ PatientList { id } }', variables as never))).toEqual(['invalid']);
    }
    expect(failures(await clinic.ask('{ PatientList { id } }', undefined, { variables: null }))).toEqual([]);
  });
});

describe('order and pages', () => {
  test.each([
    ['', ['a', 'b', 'c']],
    ['_sort: "-birthdate"', ['c', 'b', 'a']],
    ['_sort: birthdate', ['a', 'b', 'c']],
    ['_sort: "gender,-birthdate"', ['a', 'c', 'b']],
    ['_sort: "gender"', ['a', 'b', 'c']],
    ['_sort: "-_id"', ['c', 'b', 'a']],
    ['_sort: null', ['a', 'b', 'c']],
    ['_count: 2', ['a', 'b']],
    ['_count: 2, _offset: 1', ['b', 'c']],
    ['_offset: 5', []],
    ['_count: 0', []],
    ['_sort: "-birthdate", _count: 1, _offset: 1', ['b']],
    ['_count: 2, fhirpath: "active = false"', ['b']],
  ])('PatientList(%s)', async (args, found) => {
    const list = args === '' ? '_count: 10' : args;
    expect(await ids(list)).toEqual(found);
  });
});

describe('a wrong search', () => {
  test.each([
    ['name_exact: "x"', 'Unknown argument "name_exact" on field "Query.PatientList"'],
    ['adress_city: "x"', 'Did you mean "address_city"'],
    ['address_city_: "x"', 'Did you mean "address_city"'],
    ['_include: "x"', 'Unknown argument "_include"'],
    ['_has: "x"', 'Unknown argument "_has"'],
    ['id: "a"', 'Unknown argument "id"'],
    ['name: {a: 1}', 'String cannot represent this value'],
    ['_count: "2"', 'Int cannot represent non-integer value: "2"'],
    ['_count: 1.5', 'Int cannot represent non-integer value: 1.5'],
    ['name: "a", name: "b"', 'There can be only one argument named "name".'],
  ])('is refused if it is not a valid search: %s', async (args, message) => {
    const result = await clinic.ask(`{ PatientList(${args}) { id } }`);
    expect(messages(result).join()).toContain(message);
    expect(failures(result)[0]).toMatch(/^invalid \(1:\d+/);
    expect(result).not.toHaveProperty('data');
  });

  test('modifiers are not part of the grammar', async () => {
    const result = await clinic.ask('{ PatientList(name:exact: "x") { id } }');
    expect(failures(result)).toEqual(['invalid (1:25)']);
    expect(messages(result)).toEqual(['Syntax Error: Expected Name, found ":".']);
  });

  test.each([
    ['birthdate: "soon"', 'invalid'],
    ['birthdate: ["1970", "soon"]', 'invalid'],
    ['_count: -1', 'invalid'],
    ['_offset: -1', 'invalid'],
    ['_sort: "nothing"', 'invalid'],
    ['_filter: "gender is male"', 'invalid'],
    ['_filter: "(gender eq male"', 'invalid'],
    ['fhirpath: "name("', 'invalid'],
    ['name: ""', 'invalid'],
  ])('makes that field null, with an error, and does not affect other fields: %s', async (args, code) => {
    const result = await clinic.ask(`{ good: PatientList(_count: 1) { id }\n  bad: PatientList(${args}) { id } }`);
    expect(result.data).toEqual({ good: [{ id: 'a' }], bad: null });
    expect(failures(result)).toEqual([`${code} at bad (2:3)`]);
  });

  test('with a page larger than the limit ends the request', async () => {
    const result = await clinic.ask('{ PatientList(_count: 10001) { id } }');
    expect(failures(result)).toEqual(['too-costly']);
    expect(messages(result)[0]).toContain('10000');
  });
});

describe('connections', () => {
  const edges = (...found: string[]): object[] => found.map((id) => ({ resource: { id } }));

  test.each([
    ['', { count: 3, offset: 0, pagesize: null, edges: edges('a', 'b', 'c') }],
    ['(_count: 2)', { count: 3, offset: 0, pagesize: 2, edges: edges('a', 'b') }],
    ['(_count: 2, _offset: 2)', { count: 3, offset: 2, pagesize: 2, edges: edges('c') }],
    ['(gender: male, _sort: "-birthdate")', { count: 2, offset: 0, pagesize: null, edges: edges('c', 'b') }],
    ['(_count: 0)', { count: 3, offset: 0, pagesize: 0, edges: [] }],
    ['(name: "nobody")', { count: 0, offset: 0, pagesize: null, edges: [] }],
    ['(_count: 2, fhirpath: "active = false")', { count: 3, offset: 0, pagesize: 2, edges: edges('b') }],
  ])('PatientConnection%s', async (args, expected) => {
    const query = `{ PatientConnection${args} { count offset pagesize edges { resource { id } } } }`;
    expect(await clinic.data(query)).toEqual({ PatientConnection: expected });
  });

  test('accept the other names, aliases and merged parts', async () => {
    const query = `{ page: PatientConnection(_count: 1) {
      n: count n2: count pageSize size: pagesize
      edges { mode score how: mode }
      edges { resource { id } r: resource { gender } }
    } }`;
    expect(await clinic.data(query)).toEqual({
      page: {
        n: 3,
        n2: 3,
        pageSize: 1,
        size: 1,
        edges: [{ mode: 'match', score: null, how: 'match', resource: { id: 'a' }, r: { gender: 'female' } }],
      },
    });
  });

  test('are null if they fail', async () => {
    const result = await clinic.ask('{ PatientConnection(birthdate: "soon") { count } }');
    expect(result.data).toEqual({ PatientConnection: null });
    expect(failures(result)).toEqual(['invalid at PatientConnection (1:3)']);
  });

  test('have errors with paths through the edges', async () => {
    const { ask } = await openClinic([{ resourceType: 'Observation', id: '1', subject: { reference: 'Patient/x' } }]);
    const query = '{ ObservationConnection { edges { resource { subject { resource { id } } } } } }';
    expect(failures(await ask(query))).toEqual([
      'not-found at ObservationConnection.edges.0.resource.subject.resource (1:56)',
    ]);
  });
});
