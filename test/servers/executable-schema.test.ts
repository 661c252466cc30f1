import { graphql, GraphQLError, parse, validate } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFhirGraphql, type FhirGraphql, MemoryStore } from '../../src/index.js';
import { storeWith } from '../support/store-with.js';
import { countCalls, type CountingStore } from '../graphql/counting-store.js';
import { caller, openClinic } from '../graphql/harness.js';

let service: FhirGraphql;
let counting: CountingStore;
let commits = 0;

beforeAll(async () => {
  const inner = new MemoryStore();
  counting = countCalls(
    storeWith(inner, {
      commit: (writes, options) => {
        commits += 1;
        return inner.commit(writes, options);
      },
    }),
  );
  await openClinic(
    [
      { resourceType: 'Patient', id: 'a', gender: 'female', name: [{ family: 'Adler', given: ['Ann'] }] },
      {
        resourceType: 'Patient',
        id: 'b',
        name: [{ family: 'Berg' }],
        generalPractitioner: [{ reference: 'Practitioner/p' }],
      },
      { resourceType: 'Practitioner', id: 'p', name: [{ family: 'Stone' }] },
    ],
    counting.store,
  );
  service = createFhirGraphql({
    store: counting.store,
    introspection: { types: ['Patient', 'Practitioner'] },
    types: 'type Score { value: Float! band: Band } enum Band { LOW HIGH }',
    fields: {
      Patient: {
        score: {
          type: 'Score',
          args: { fail: 'Boolean = false' },
          resolve: (all, { fail }) =>
            all.map(({ id }) => ({ value: id === 'b' && fail === true ? null : 1, band: 'HIGH' })),
        },
      },
    },
  });
  counting.takeCalls();
  commits = 0;
});

async function ask(source: string, variableValues?: { [name: string]: unknown }): Promise<unknown> {
  const result = await graphql({ schema: service.schema, source, variableValues, contextValue: { caller } });
  return JSON.parse(JSON.stringify(result)) as unknown;
}

/** Queries whose answer must be the same by the engine and by graphql-js over the schema. */
const QUERIES: readonly (readonly [query: string, variables: { [name: string]: unknown }])[] = [
  ['{ PatientList { id n: name { f: family family given } score { value band } } }', {}],
  [
    '{ Patient(id: "a") { ...p } other: Patient(id: "b") { ...p } PatientConnection { count edges { mode resource { id } } } } fragment p on Patient { id gender __typename }',
    {},
  ],
  [
    '{ PatientList { generalPractitioner { resource { id ... on Practitioner { name { family } } ...r } } } } fragment r on Resource { __typename resourceType }',
    {},
  ],
  [
    'query ($id: ID!, $no: Boolean = false, $n: [String] = ["adler"]) { Patient(id: $id) { id @skip(if: $no) gender @include(if: $no) } PatientList(name: $n) { id } }',
    { id: 'b' },
  ],
  ['{ Patient(id: "none") { id } PatientList { id score(fail: true) { value } } }', {}],
  ['{ __typename Patient(id: "a") { __typename } }', {}],
];

interface Failure {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly extensions: { readonly code: string };
}

function pathOfNull(data: unknown, path: readonly (string | number)[]): readonly (string | number)[] {
  let value = data;
  const found = path.findIndex((key) => {
    value = (value as { [key: string | number]: unknown })[key];
    return value === null;
  });
  return path.slice(0, found + 1);
}

describe('the service as an executable schema', () => {
  test.each(QUERIES)('answers like the engine: %s', async (query, variables) => {
    counting.takeCalls();
    const own = await service.execute(query, { caller, variables });
    const calls = counting.takeCalls();
    const answer = (await ask(query, variables)) as { data: unknown; errors?: Failure[] };
    expect(answer.data).toEqual(own.data);
    // If a null was propagated, graphql-js knows the position that is null.
    const facts = (errors: readonly Failure[] = []): unknown[] =>
      errors.map(({ path, message, extensions }) => [pathOfNull(own.data, path), message, extensions.code]);
    expect(facts(answer.errors).sort()).toEqual(facts(own.errors as readonly Failure[] | undefined).sort());
    expect(counting.takeCalls(), 'store calls').toEqual(calls);
  });

  test('mutations are one commit, and its failure undoes all', async () => {
    expect(
      await ask('mutation { a: PatientCreate(res: { gender: "male" }) { gender } b: PatientDelete(id: "x1") { id } }'),
    ).toMatchObject({
      data: { a: null, b: null },
      errors: [{ path: ['b'], extensions: { code: 'not-found' } }],
    });
    expect(commits).toBe(0);
    expect(
      await ask(
        'mutation ($r: PatientInput!) { a: PatientUpdate(id: "x", res: $r) { active } b: PatientDelete(id: "x") { id } }',
        { r: { active: true } },
      ),
    ).toEqual({
      data: { a: { active: true }, b: null },
    });
    expect(commits).toBe(1);
  });

  test('is strict: lenient spellings and reshaping directives do not reach the engine', () => {
    for (const query of [
      '{ Patient(id: a) { id } PatientList(gender: female) { id } }',
      '{ PatientList { name @flatten { family } } }',
      '{ PatientList { generalPractitioner { resource { name { family } } } } }',
      '{ ObservationList { id } }',
    ]) {
      expect(validate(service.schema, parse(query)), query).not.toEqual([]);
    }
  });

  test('without a caller in the context it answers nothing', async () => {
    const result = await graphql({ schema: service.schema, source: '{ PatientList { id } }', contextValue: {} });
    expect(result.data).toEqual({ PatientList: null });
    expect(result.errors).toMatchObject([{ path: ['PatientList'], extensions: { code: 'unauthenticated' } }]);
    expect(result.errors![0]).toBeInstanceOf(GraphQLError);
  });
});
