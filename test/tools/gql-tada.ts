import { executeFhirGraphql } from 'fhirgraph';
import { graphql } from 'gql.tada';
import { expect, test } from 'vitest';
import { openClinic, caller } from '../graphql/harness.js';
import { toCompile } from '../support/compile.js';
import { generateOutput } from './generate-tada.js';
import { ADD, CHART, PAGE, SDL } from './tool-schema.js';

const environment = await generateOutput(SDL);

/** @returns a function that finds the errors of a client with these lines */
function compileClient(name: string, lines: string): () => string[] {
  const client = `
    import { executeFhirGraphql, type FhirGraphqlContext } from 'fhirgraph';
    import { initGraphQLTada, type ResultOf, type VariablesOf } from 'gql.tada';
    import type { introspection } from './graphql-env.js';
    const graphql = initGraphQLTada<{
      introspection: introspection;
      scalars: { JSON: unknown; ResourceInput: object; ResourceTypeName: string; SearchParameterName: string };
    }>();
    declare const context: FhirGraphqlContext;
    const chart = graphql(\`${CHART.replace(/\{ \.\.\.Name \}/g, '{ family given }').replace(/fragment Name.*/, '')}\`);
    const page = graphql(\`${PAGE}\`);
    const add = graphql(\`${ADD}\`);
    ${lines}`;
  const texts = new Map([
    ['test/tools/graphql-env.d.ts', environment],
    [`test/tools/${name}.ts`, client],
  ]);
  const errors = toCompile(texts);
  return () => errors().map(({ file, message }) => `${file}: ${message}`);
}

const errorsOfClient = compileClient(
  'tada-client',
  `
    const { data } = await executeFhirGraphql(chart, { ...context, variables: { id: '1', code: ['x'] } });
    export const birthDate: string | null | undefined = data?.Patient?.birthDate;
    export const family: string | null | undefined = data?.Patient?.official?.[0]?.family;
    export const value: number | null | undefined = data?.Patient?.ObservationList?.[0]?.valueQuantity?.value;
    const doctor = data?.Patient?.generalPractitioner?.[0]?.resource;
    if (doctor?.__typename === 'Practitioner') doctor.name?.[0]?.given satisfies unknown;
    export const count: number | null | undefined =
      (await executeFhirGraphql(page, context)).data?.PatientConnection?.count;
    const variables: VariablesOf<typeof add> = { patient: { birthDate: '1970-01-01', name: [{ family: 'A' }] } };
    const added = await executeFhirGraphql(add, { ...context, variables });
    export const made: string | null | undefined = added.data?.PatientCreate?.id;

    // @ts-expect-error the query selects no such field
    void data?.Patient?.gender;
    // @ts-expect-error a patient that cannot be read is null
    void data?.Patient.id;
    // @ts-expect-error a date is a string
    export const wrongDate: number = data!.Patient!.birthDate!;
    // @ts-expect-error only a practitioner has its name selected
    void doctor?.name;
    // @ts-expect-error the id is required
    void executeFhirGraphql(chart, { ...context, variables: { code: ['x'] } });
    // @ts-expect-error the id is required
    void executeFhirGraphql(chart, context);
    // @ts-expect-error no such element
    void executeFhirGraphql(add, { ...context, variables: { patient: { birthdate: '1970-01-01' } } });
  `,
);
const errorsOfWrong = compileClient(
  'tada-wrong',
  'export const wrong: number = ({} as ResultOf<typeof chart>).Patient!.birthDate!;',
);

test('gql.tada types documents by our SDL, and executeFhirGraphql their results', () => {
  expect(errorsOfClient()).toEqual([]);
});

test('a client that uses the types wrongly does not compile', () => {
  expect(errorsOfWrong()).toEqual(["test/tools/tada-wrong.ts: Type 'string' is not assignable to type 'number'."]);
});

test('documents that gql.tada parsed, which have no locations, are executed', async () => {
  const { store } = await openClinic([{ resourceType: 'Patient', id: '1', birthDate: '1970-01-01' }]);
  const ask = (text: string, variables = {}): Promise<unknown> =>
    executeFhirGraphql(graphql(text as never), { store, caller, variables });
  expect(await ask(CHART, { id: '1', code: ['x'] })).toEqual({
    data: {
      Patient: { id: '1', birthDate: '1970-01-01', official: null, generalPractitioner: null, ObservationList: [] },
    },
  });
  expect(await ask('{ Patient(id: "1") { birthdate } }')).toMatchObject({
    errors: [
      { message: expect.stringContaining('Did you mean "birthDate"?') as string, extensions: { code: 'invalid' } },
    ],
  });
});
