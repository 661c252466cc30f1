import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../src/index.js';
import { cases, SEED } from '../support/chance.js';
import { failures, openClinic } from './harness.js';

const clinic = await openClinic([
  {
    resourceType: 'Patient',
    id: 'a',
    gender: 'female',
    name: [
      { use: 'official', family: 'Hill', given: ['Ann', 'B'] },
      { use: 'old', family: 'Brook' },
    ],
    generalPractitioner: [{ reference: 'Practitioner/p' }],
    active: 'wrong',
  },
  { resourceType: 'Practitioner', id: 'p', gender: 'male' },
  { resourceType: 'Observation', id: 'o', subject: { reference: 'Patient/a' } },
]);

/** Every kind of field that can have an alias; `X` is the alias. */
const PLACES: readonly (readonly [place: string, query: string])[] = [
  ['a leaf', '{ Patient(id: "a") { X: gender id } }'],
  ['a leaf that fails', '{ Patient(id: "a") { X: active id } }'],
  ['a read', '{ X: Patient(id: "a") { id } }'],
  ['a read that fails', '{ X: Patient(id: "b") { id } }'],
  ['a list', '{ X: PatientList { X: name { X: family X: family } } }'],
  ['a filtered element', '{ Patient(id: "a") { X: name(use: "old") { family } } }'],
  ['a connection', '{ X: PatientConnection(_count: 1) { X: edges { X: resource { X: id } } count } }'],
  ['a part of a connection', '{ PatientConnection(_count: 1) { X: count edges { X: mode } } }'],
  ['a reference', '{ Patient(id: "a") { X: generalPractitioner { X: resource { X: __typename } } } }'],
  ['a reverse list', '{ Patient(id: "a") { X: ObservationList(_reference: subject) { X: id } } }'],
  ['a flattened element', '{ Patient(id: "a") { name @flatten { X: family } } }'],
  ['a sliced element', '{ Patient(id: "a") { X: name @slice(path: "use") { X: family } } }'],
  ['the name of a type', '{ X: __typename Patient(id: "a") { X: __typename } }'],
  ['introspection', '{ X: __type(name: "Patient") { X: kind X: kind } X: __type(name: "Patient") { X: kind } }'],
  ['a fragment', '{ Patient(id: "a") { ...f } } fragment f on Patient { X: gender }'],
  ['a mutation', 'mutation { X: PatientDelete(id: "nobody") }'],
];

const NAMES = ['__proto__', '__isResource', '__', '_v1', 'constructor', 'toString', 'hasOwnProperty', 'toJSON', 'then'];

describe.each(['standard', 'hl7'] as const)('in dialect %s', (dialect) => {
  test.each(PLACES)('any alias is accepted on %s', async (_, query) => {
    const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
    const plain = await answer(query.replaceAll('X:', 'ordinary:'), dialect);
    for (const name of NAMES) {
      const text = await answer(query.replaceAll('X:', `${name}:`), dialect);
      expect(text.replaceAll(`"${name}`, '"ordinary')).toBe(plain);
    }
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
  });

  test('an answer under __proto__ is an ordinary property', async () => {
    const { data } = await clinic.ask('{ PatientList { __proto__: name { family } id } }', {}, { dialect });
    const [patient] = (data as { PatientList: object[] }).PatientList;
    expect(Object.keys(patient!)).toEqual(['__proto__', 'id']);
    expect(Object.getPrototypeOf(patient)).toBe(Object.prototype);
  });
});

test('a repeated key in a connection is collated in dialect hl7', async () => {
  const query = '{ PatientConnection(_count: 1) { edges { mode } edges { resource { id } } count count } }';
  expect(await clinic.data(query, {}, { dialect: 'hl7' })).toEqual({
    PatientConnection: { edges: [{ mode: 'match' }, { resource: { id: 'a' } }], count: [1, 1] },
  });
});

test('fields under __proto__ merge or conflict like fields under any other alias', async () => {
  const ok = '{ Patient(id: "a") { __proto__: name { use } __proto__: name { family } } }';
  const { data } = await clinic.ask(ok);
  expect(JSON.stringify(data)).toBe(
    '{"Patient":{"__proto__":[{"use":"official","family":"Hill"},{"use":"old","family":"Brook"}]}}',
  );
  const conflict = '{ Patient(id: "a") { __proto__: id __proto__: gender } }';
  expect(failures(await clinic.ask(conflict))).toEqual(['invalid (1:22 1:36)']);
});

/** Fields under aliases that are drawn from a few names. */
const selection = fc
  .array(
    fc.tuple(fc.constantFrom('A', 'B', ''), fc.constantFrom('id', 'gender', '__typename', 'name { A: family given }')),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((fields) => fields.map(([alias, field]) => (alias === '' ? field : `${alias}: ${field}`)).join(' '));

test('the name of an alias does not matter', async () => {
  await fc.assert(
    fc.asyncProperty(
      selection,
      fc.shuffledSubarray(NAMES, { minLength: 2, maxLength: 2 }),
      fc.constantFrom<Dialect>('standard', 'hl7'),
      async (selected, [a, b], dialect) => {
        const query = (one: string, two: string): string =>
          `{ Patient(id: "a") { ${selected.replaceAll('A:', `${one}:`).replaceAll('B:', `${two}:`)} } }`;
        const renamed = (await answer(query(a!, b!), dialect))
          .replaceAll(`"${a!}"`, '"aa"')
          .replaceAll(`"${b!}"`, '"bb"');
        expect(renamed).toBe(await answer(query('aa', 'bb'), dialect));
      },
    ),
    { seed: SEED, numRuns: cases(100, 50) },
  );
});

/** The answer as a text without positions and messages, which contain the names as written. */
async function answer(query: string, dialect: Dialect): Promise<string> {
  const { data, errors = [] } = await clinic.ask(query, {}, { dialect });
  return JSON.stringify({ data, errors: errors.map(({ path, extensions }) => [path, extensions.code]) });
}
