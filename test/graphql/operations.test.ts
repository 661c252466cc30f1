import { parse, stripIgnoredCharacters } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { executeFhirGraphql, FhirError, type FhirGraphqlContext, systemCaller } from '../../src/index.js';
import { caller, erase, failures, messages, openClinic, type Clinic } from './harness.js';
import { storeWith } from '../support/store-with.js';

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    { resourceType: 'Patient', id: '1', gender: 'female', name: [{ family: 'Hill' }] },
    { resourceType: 'Patient', id: 'gone' },
    { resourceType: 'Observation', id: 'o', subject: { reference: 'Patient/1' } },
  ]);
  await erase(clinic.store, { type: 'Patient', id: 'gone' });
});

describe('the selected operation', () => {
  const two = 'query A { Patient(id: 1) { id } } query B { Patient(id: 1) { gender } }';

  test.each([
    ['A', { Patient: { id: '1' } }],
    ['B', { Patient: { gender: 'female' } }],
  ])('%s of two', async (operationName, data) => {
    expect(await clinic.data(two, {}, { operationName })).toEqual(data);
  });

  test.each([
    [two, undefined, 'The document holds several operations; name one with operationName'],
    [two, null, 'The document holds several operations; name one with operationName'],
    [two, '', 'The document holds several operations; name one with operationName'],
    [two, 'C', 'The document holds no operation of the name given in operationName'],
    ['{ PatientList { id } }', 'A', 'The document holds no operation of the name given in operationName'],
  ])('%s with the name %s', async (query, operationName, message) => {
    const result = await clinic.ask(query, {}, { operationName });
    expect(messages(result)).toEqual([message]);
    expect(failures(result)).toEqual(['invalid']);
  });

  test('the only operation needs no name', async () => {
    expect(await clinic.data('query A { Patient(id: 1) { id } }')).toEqual({ Patient: { id: '1' } });
  });

  test.each([
    ['query A { Patient(id: 1) { id } } query A { Patient(id: 1) { id } }', 'only one operation named "A"'],
    ['{ Patient(id: 1) { id } } query A { Patient(id: 1) { id } }', 'anonymous operation must be the only'],
    ['fragment f on Patient { id }', 'Fragment "f" is never used.'],
    ['type A { b: Int } { PatientList { id } }', 'The "A" definition is not executable.'],
    ['subscription { PatientChanges { id } }', 'subscription'],
    ['mutation { Nothing { id } }', 'Mutation'],
  ])('refused: %s', async (query, message) => {
    const result = await clinic.ask(query);
    expect(messages(result).join()).toContain(message);
    expect(result).not.toHaveProperty('data');
  });
});

describe('a query about one instance', () => {
  test('has the fields of the instance as its root', async () => {
    const query = '{ __typename id name { family } ObservationList(_reference: subject) { id } }';
    expect(await clinic.data(query, {}, { focus: 'Patient/1' })).toEqual({
      __typename: 'Patient',
      id: '1',
      name: [{ family: 'Hill' }],
      ObservationList: [{ id: 'o' }],
    });
  });

  test('can have variables, fragments and an operation name', async () => {
    const query = 'query A($f: String) { ...n } fragment n on Patient { name(family: $f) { family } }';
    const more = { focus: 'Patient/1', operationName: 'A' };
    expect(await clinic.data(query, { f: 'Hill' }, more)).toEqual({ name: [{ family: 'Hill' }] });
    expect(await clinic.data(query, { f: 'Dale' }, more)).toEqual({ name: [] });
  });

  test('has another meaning for each type', async () => {
    const query = '{ id subject { reference } }';
    expect(await clinic.data(query, {}, { focus: 'Observation/o' })).toEqual({
      id: 'o',
      subject: { reference: 'Patient/1' },
    });
    expect(messages(await clinic.ask(query, {}, { focus: 'Patient/1' }))[0]).toContain(
      'Cannot query field "subject" on type "Patient".',
    );
    expect(messages(await clinic.ask(query))[0]).toContain('Cannot query field "id" on type "Query".');
  });

  test.each([
    ['Patient/nobody', 'not-found', 'Patient/nobody was not found'],
    ['Patient/gone', 'gone', 'Patient/gone was deleted'],
    ['Patient', 'invalid', 'The focus must be Type/id, such as Patient/123'],
    ['Nothing/1', 'invalid', 'The focus must be Type/id, such as Patient/123'],
    ['https://a.b/Patient/1', 'invalid', 'The focus must be Type/id, such as Patient/123'],
    ['#1', 'invalid', 'The focus must be Type/id, such as Patient/123'],
    ['', 'invalid', 'The focus must be Type/id, such as Patient/123'],
  ])('%j fails as a whole', async (focus, code, message) => {
    const result = await clinic.ask('{ id }', {}, { focus });
    expect(failures(result)).toEqual([code]);
    expect(messages(result)).toEqual([message]);
    expect(result).not.toHaveProperty('data');
  });

  test('has errors with paths from the instance', async () => {
    const result = await clinic.ask('{ name(_count: -1) { family } }', {}, { focus: 'Patient/1' });
    expect(result.data).toEqual({ name: null });
    expect(failures(result)).toEqual(['invalid at name (1:3)']);
  });
});

describe('parsed documents', () => {
  const text = 'query($id: ID!) { Patient(id: $id) { id } }';

  test('answer like their texts', async () => {
    const document = parse(text);
    for (const variables of [{ id: '1' }, { id: 'x' }]) {
      const context = { store: clinic.store, caller, variables };
      expect(await executeFhirGraphql(document, context)).toEqual(await executeFhirGraphql(text, context));
    }
  });

  test('need no locations', async () => {
    const context = { store: clinic.store, caller, variables: { id: 'x' } };
    const result = await executeFhirGraphql(parse(text, { noLocation: true }), context);
    expect(failures(result)).toEqual(['not-found at Patient']);
    const bare = JSON.parse(JSON.stringify(parse(text, { noLocation: true }))) as ReturnType<typeof parse>;
    expect(failures(await executeFhirGraphql(bare, context))).toEqual(['not-found at Patient']);
  });

  test('are validated again for each root', async () => {
    const document = parse('{ id }');
    const context: FhirGraphqlContext = { store: clinic.store, caller };
    expect(failures(await executeFhirGraphql(document, context))).toEqual(['invalid (1:3)']);
    expect(await executeFhirGraphql(document, { ...context, focus: 'Patient/1' })).toEqual({ data: { id: '1' } });
    expect(failures(await executeFhirGraphql(document, context))).toEqual(['invalid (1:3)']);
  });

  test.each([undefined, null, 7, '', '  \n', {}, { kind: 'Field' }, []])('%j is not a query', async (query) => {
    const result = await executeFhirGraphql(query as never, { store: clinic.store, caller });
    expect(messages(result)).toEqual(['A query must be given: the text of a GraphQL document']);
    expect(failures(result)).toEqual(['invalid']);
  });
});

describe('errors', () => {
  test.each([
    ['{ Patient(id: 1) { id }', 'invalid (1:24)', 'Syntax Error: Expected Name, found <EOF>.'],
    ['{\n  Patient(id: "1) { id } }', 'invalid (2:27)', 'Syntax Error: Unterminated string.'],
    ['{ Patient(id: 1) { id } } }', 'invalid (1:27)', 'Syntax Error: Unexpected "}".'],
    ['{ PatientList(name: $) { id } }', 'invalid (1:22)', 'Syntax Error: Expected Name, found ")".'],
    ['{ Patient(id: 1) {} }', 'invalid (1:19)', 'Syntax Error: Expected Name, found "}".'],
  ])('of syntax have their location: %s', async (query, failure, message) => {
    const result = await clinic.ask(query);
    expect(messages(result)).toEqual([message]);
    expect(failures(result)).toEqual([failure]);
    expect(result).not.toHaveProperty('data');
  });

  test('of validation are reported together, each with its location and a suggestion', async () => {
    const result = await clinic.ask('{\n  Patient(id: 1) { gendr }\n  PatientList(nam: "x") { id }\n}');
    expect(failures(result)).toEqual(['invalid (2:20)', 'invalid (3:15)']);
    expect(messages(result)[0]).toBe('Cannot query field "gendr" on type "Patient". Did you mean "gender"?');
    expect(messages(result)[1]).toContain('Did you mean "name"');
  });

  test('have an OperationOutcome each', async () => {
    const result = await clinic.ask('{ Patient(id: x) { id } }');
    expect(result.errors).toEqual([
      {
        message: 'Patient/x was not found',
        locations: [{ line: 1, column: 3 }],
        path: ['Patient'],
        extensions: {
          code: 'not-found',
          resource: {
            resourceType: 'OperationOutcome',
            issue: [{ severity: 'error', code: 'not-found', details: { text: 'Patient/x was not found' } }],
          },
        },
      },
    ]);
    for (const query of ['{', '{ x }', '{ PatientList(_count: 99999) { id } }']) {
      const { errors } = await clinic.ask(query);
      expect(errors![0]!.extensions.resource).toMatchObject({
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'error', details: { text: errors![0]!.message } }],
      });
    }
  });

  test.each(['read', 'search', 'searchByReference'] as const)(
    'of the adapter hide its internals: %s',
    async (method) => {
      const store = storeWith(clinic.store, {
        [method]: () => Promise.reject(new Error('password=secret for db1')),
      });
      const query =
        '{ Patient(id: 1) { id ObservationList(_reference: subject) { id } } PatientList { id } __typename }';
      const result = await clinic.ask(query, {}, { store });
      expect(result.data).toHaveProperty('__typename', 'Query');
      expect(failures(result)).toEqual([expect.stringMatching(/^internal at /)]);
      expect(messages(result)).toEqual(['Internal error']);
      expect(JSON.stringify(result)).not.toContain('secret');
    },
  );

  test.each([
    [
      'throws at once',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects with text', () => Promise.reject('secret')],
    ['answers with nothing', () => Promise.resolve(undefined)],
    ['answers with too little', () => Promise.resolve([])],
  ])('of an adapter that %s are internal', async (_, read) => {
    const store = storeWith(clinic.store, { read: read as never });
    const result = await clinic.ask('{ Patient(id: 1) { id } }', {}, { store });
    expect(result.data).toEqual({ Patient: null });
    expect(failures(result)).toEqual(['internal at Patient (1:3)']);
    expect(JSON.stringify(result)).not.toContain('secret');
  });

  test('of a store that cannot be reached are reported', async () => {
    const store = storeWith(clinic.store, {
      search: () => Promise.reject(new FhirError('unavailable', 'The store is closed', { cause: new Error('secret') })),
    });
    const result = await clinic.ask('{ PatientList { id } Patient(id: 1) { id } }', {}, { store });
    expect(result.data).toEqual({ PatientList: null, Patient: { id: '1' } });
    expect(failures(result)).toEqual(['unavailable at PatientList (1:3)']);
    expect(messages(result)).toEqual(['The store is closed']);
    expect(JSON.stringify(result)).not.toContain('secret');
  });
});

describe('callers', () => {
  test.each<[string, unknown]>([
    ['none', undefined],
    ['null', null],
    ['a name', 'clinic'],
    ['a forged one', { kind: 'system', project: 'clinic' }],
    ['a copy of a genuine one', { ...caller }],
    ['a clone of a genuine one', structuredClone(caller)],
    ['an object that inherits from a real caller', Object.create(caller)],
    ['a proxy of a genuine one', new Proxy(caller, {})],
  ])('%s is refused', async (_, forged) => {
    const result = await clinic.ask('{ PatientList { id } }', {}, { caller: forged as never });
    expect(failures(result)).toEqual(['unauthenticated']);
    expect(result).not.toHaveProperty('data');
  });

  test('the caller is checked first, before any error of the query', async () => {
    expect(failures(await clinic.ask('{ nothing', {}, { caller: undefined as never }))).toEqual(['unauthenticated']);
  });

  test('each caller sees its own project', async () => {
    const result = await clinic.ask(
      '{ PatientList { id } Patient(id: 1) { id } }',
      {},
      { caller: systemCaller('other') },
    );
    expect(result.data).toEqual({ PatientList: [], Patient: null });
    expect(failures(result)).toEqual(['not-found at Patient (1:22)']);
  });
});

describe('only a mistake of the host rejects the promise', () => {
  test.each<[unknown]>([[undefined], [null], [{}], [{ caller }], [{ caller, store: {} }], [{ caller, store: null }]])(
    'no store: %j',
    async (context) => {
      await expect(executeFhirGraphql('{ PatientList { id } }', context as never)).rejects.toThrow(
        new TypeError('executeFhirGraphql needs a store'),
      );
    },
  );
});

test('white space and commas make no difference', async () => {
  const query = '{ Patient ( id : 1 ) { id , name ( family : "Hill" ) { family } } }';
  expect(await clinic.data(stripIgnoredCharacters(query))).toEqual(await clinic.data(query));
});
