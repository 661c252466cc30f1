import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import {
  executeFhirGraphql,
  type GraphqlValidationOptions,
  MemoryStore,
  systemCaller,
  validateFhirGraphql,
} from '../../src/index.js';

async function errorsOf(document: string, options?: GraphqlValidationOptions) {
  const { errors } = await validateFhirGraphql(document, options);
  return errors.map(({ code, locations = [], message }) => [
    code,
    locations.map(({ line, column }) => `${line}:${column}`).join(),
    message,
  ]);
}

describe('one document', () => {
  test('a valid document has no errors, and its operations have their costs', async () => {
    const text = `
      query One($id: ID!) { Patient(id: $id) { id } }
      query Page($first: Int = 20) { ObservationList(_count: $first, _sort: "-date") { id code { text } } }
      mutation Remove { PatientDelete(id: "1") { id } }`;
    expect(await validateFhirGraphql(text)).toEqual({
      errors: [],
      operations: [
        { name: 'One', operation: 'query', depth: 2, leastCost: 2, estimatedCost: 4 },
        { name: 'Page', operation: 'query', depth: 3, leastCost: 2, estimatedCost: 25 },
        { name: 'Remove', operation: 'mutation', depth: 2, leastCost: 0, estimatedCost: 4 },
      ],
    });
  });

  test('a parsed document is validated too', async () => {
    const { errors } = await validateFhirGraphql(parse('{ Patient(id: 1) { nothing } }'));
    expect(errors.map(({ code, locations }) => ({ code, locations }))).toEqual([
      { code: 'invalid', locations: [{ line: 1, column: 20 }] },
    ]);
  });

  test.each([
    ['a syntax error', '{ Patient(id: 1) { id }', 'invalid', '1:24', 'Syntax Error: Expected Name, found <EOF>.'],
    [
      'an unknown field',
      '{\n  PatientList { nmae { family } }\n}',
      'invalid',
      '2:17',
      'Cannot query field "nmae" on type "Patient".',
    ],
    ['no operation', '# nothing', 'invalid', '1:10', 'Syntax Error: Unexpected <EOF>.'],
  ])('%s is an error with its location', async (_, document, code, place, message) => {
    const errors = await errorsOf(document);
    expect(errors).toEqual([[code, place, expect.stringContaining(message)]]);
  });

  test.each([
    ['a date', '{ PatientList(birthdate: "yesterday") { id } }', '1:3'],
    ['a sort key', '{\n PatientList(_sort: "shoesize") { id } }', '2:2'],
    ['a filter', '{ PatientList(_filter: "name co") { id } }', '1:3'],
    ['an expression on matches', '{ PatientList(fhirpath: "name.nofunction()") { id } }', '1:3'],
    ['an expression on items', '{ Patient(id: 1) { name(fhirpath: "(") { family } } }', '1:20'],
    ['an expression of @slice', '{ Patient(id: 1) { name @slice(path: "a.b(") { family } } }', '1:20'],
    ['a page of items', '{ Patient(id: 1) { name(_count: -1) { family } } }', '1:20'],
    ['an offset', '{ PatientList(_offset: -1) { id } }', '1:3'],
    [
      'an argument below a reference',
      '{ Patient(id: 1) { generalPractitioner { resource { ... on Practitioner { ObservationList(_reference: performer, date: "soon") { id } } } } } }',
      '1:75',
    ],
    [
      'an argument below a connection',
      '{ PatientConnection { edges { resource { ObservationList(_reference: subject, date: "soon") { id } } } } }',
      '1:42',
    ],
    [
      'an argument behind @include with a variable',
      'query ($a: Boolean!) { PatientList(birthdate: "soon") @include(if: $a) { id } }',
      '1:24',
    ],
    [
      'an argument behind @skip with a variable',
      'query ($a: Boolean!) { PatientList(birthdate: "soon") @skip(if: $a) { id } }',
      '1:24',
    ],
  ])('%s that no execution accepts is an error with its location', async (_, document, place) => {
    const errors = await errorsOf(document);
    expect(errors.map(([code, at]) => [code, at])).toEqual([['invalid', place]]);
  });

  test('subscriptions have one field of their own root', async () => {
    expect(await errorsOf('subscription { PatientChanges(gender: "male") { event } }')).toEqual([]);
    const errors = await errorsOf('subscription { PatientList { id } }');
    expect(errors.map(([code, place]) => [code, place])).toEqual([['invalid', '1:16']]);
    expect(await errorsOf('subscription { PatientChanges(birthdate: "yesterday") { id } }')).toHaveLength(1);
  });

  test('its findings about arguments are those of execution', async () => {
    const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
    for (const document of [
      '{ PatientList(birthdate: "yesterday") { id } }',
      '{ PatientList(_sort: "shoesize") { id } }',
      '{ PatientList(_filter: "name co") { id } }',
      '{ PatientList(_count: 20000) { id } }',
      '{ PatientList(fhirpath: "name.nofunction()") { id } }',
    ]) {
      const { errors } = await validateFhirGraphql(document);
      const answer = await executeFhirGraphql(document, context);
      expect(errors.map(({ message, code }) => [code, message])).toEqual(
        answer.errors?.map(({ message, extensions }) => [extensions.code, message]),
      );
    }
  });

  test('arguments with variables are left to execution, unless the variable has a default or an example', async () => {
    const document = 'query ($date: String) { PatientList(birthdate: $date) { id } }';
    expect(await errorsOf(document)).toEqual([]);
    expect(await errorsOf(document, { variables: { date: 'soon' } })).toHaveLength(1);
    expect(await errorsOf(document.replace('String)', 'String = "soon")'))).toHaveLength(1);
    const [wrong] = await errorsOf(document, { variables: { date: { a: 1 } } });
    expect(wrong?.slice(0, 2)).toEqual(['invalid', '1:8']);
  });

  test('validity depends on the dialect and the type of instances', async () => {
    const instance = '{ name { family } }';
    expect(await errorsOf(instance)).toHaveLength(1);
    expect(await errorsOf(instance, { focus: 'Patient' })).toEqual([]);
    const choice = '{ ObservationList { value { unit } } }';
    expect(await errorsOf(choice)).toHaveLength(1);
    expect(await errorsOf(choice, { dialect: 'hl7' })).toEqual([]);
    const mutation = 'mutation { PatientDelete(id: "1") { id } }';
    expect((await errorsOf(mutation, { focus: 'Patient' })).map(([code]) => code)).toEqual(['unsupported']);
  });
});

describe('limits', () => {
  const nested = '{ PatientList { ObservationList(_reference: subject) { subject { reference } } } }';

  test.each([
    ['depth', { depth: 2 }, '{ PatientList { name { family } } }'],
    ['storeCalls', { storeCalls: 1 }, '{ a: PatientList { id } b: PatientList(gender: "male") { id } }'],
    ['cost', { cost: 3 }, '{ a: PatientList { id } b: PatientList(gender: "male") { id } }'],
    ['writes', { writes: 1 }, 'mutation { a: PatientDelete(id: "1") { id } b: PatientDelete(id: "2") { id } }'],
    ['cost of a mutation', { cost: 3 }, 'mutation { PatientDelete(id: "1") { id } }'],
    ['queryLength', { queryLength: 10 }, nested],
    ['tokens', { tokens: 5 }, nested],
    ['fields', { fields: 2 }, nested],
  ])('%s: a document that exceeds it on its own is an error', async (_, limits, document) => {
    expect((await errorsOf(document, { limits })).map(([code]) => code)).toEqual(['too-costly']);
  });

  test('maxEstimatedCost bounds queries by their estimate', async () => {
    expect(await errorsOf(nested)).toEqual([]);
    const [error] = await errorsOf(nested, { maxEstimatedCost: 500 });
    expect(error).toEqual([
      'too-costly',
      '',
      expect.stringMatching(/^The operation is estimated to cost 1219 .* 500 /),
    ]);
    const paged = 'query ($n: Int) { PatientList(_count: $n) { id } }';
    expect(await errorsOf(paged, { maxEstimatedCost: 20 })).toHaveLength(1);
    expect(await errorsOf(paged, { maxEstimatedCost: 20, variables: { n: 10 } })).toEqual([]);
  });
});

describe('manifests', () => {
  const good = '{ PatientList(_count: 1) { id } }';
  const bad = 'query Bad { PatientList { nothing } }';

  test.each([
    ['an object', { good, bad }],
    ['a Map', new Map(Object.entries({ good, bad }))],
    ['pairs', [['good', good] as const, ['bad', parse(bad)] as const]],
    [
      "Apollo's",
      {
        format: 'apollo-persisted-query-manifest' as const,
        version: 1,
        operations: [
          { id: 'good', name: 'Good', type: 'query', body: good },
          { id: 'bad', name: 'Bad', type: 'query', body: bad },
        ],
      },
    ],
  ])('errors name the document in %s', async (_, manifest) => {
    const { errors, operations } = await validateFhirGraphql(manifest);
    expect(errors.map(({ document }) => document)).toEqual(['bad']);
    expect(operations).toEqual([{ document: 'good', operation: 'query', depth: 2, leastCost: 2, estimatedCost: 4 }]);
  });

  test('errors of an operation name it', async () => {
    const text = 'query A { PatientList(birthdate: "x") { id } } query B { PatientList { id } }';
    const { errors } = await validateFhirGraphql({ both: text });
    expect(errors.map(({ document, operation }) => [document, operation])).toEqual([['both', 'A']]);
  });
});

test.each([
  [undefined, 'Pass the text'],
  [7, 'Pass the text'],
  [{ a: 1 }, 'Each entry'],
  [[['', '{ PatientList { id } }']], 'The id of a document'],
  [['text'], 'The id of a document'],
  [{ format: 'apollo-persisted-query-manifest' }, 'The manifest must have'],
  [
    [
      ['a', '{ PatientList { id } }'],
      ['a', '{ PatientList { id } }'],
    ],
    'The manifest has two',
  ],
])('a value that is neither a document nor a manifest is refused: %j', async (given, message) => {
  await expect(validateFhirGraphql(given as never)).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining(message) as string,
  });
});

test.each([{ focus: 'Nothing' }, { maxEstimatedCost: 0 }, { limits: { depht: 3 } }, { dialect: 'sql' }])(
  'invalid options are refused: %j',
  async (options) => {
    await expect(validateFhirGraphql('{ PatientList { id } }', options as never)).rejects.toMatchObject({
      code: 'invalid',
    });
  },
);
