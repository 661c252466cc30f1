import { expect, test } from 'vitest';
import { toCompile } from '../support/compile.js';
import { generateTypes } from './generate-types.js';

const generated = await generateTypes();

/** @returns a function that finds the errors of a client with these lines */
function compileClient(name: string, lines: string): () => string[] {
  const client = `
    import { executeFhirGraphql, type FhirGraphqlContext, type TypedDocument } from 'fhirgraph';
    import type * as ops from './generated-operations.js';
    import type { Patient } from './generated-schema.js';
    declare const context: FhirGraphqlContext;
    declare const chart: TypedDocument<ops.ChartQuery, ops.ChartQueryVariables>;
    declare const page: TypedDocument<ops.PageQuery, ops.PageQueryVariables>;
    declare const add: TypedDocument<ops.AddMutation, ops.AddMutationVariables>;
    ${lines}`;
  const errors = toCompile(new Map([...generated, [`test/tools/${name}.ts`, client]]));
  return () => errors().map(({ file, message }) => `${file}: ${message}`);
}

const errorsOfClient = compileClient(
  'codegen-client',
  `
    const { data } = await executeFhirGraphql(chart, { ...context, variables: { id: '1', code: 'x' } });
    export const birthDate: string | null | undefined = data?.Patient?.birthDate;
    export const family: string | null | undefined = data?.Patient?.official?.[0]?.family;
    export const value: number | null | undefined = data?.Patient?.ObservationList?.[0]?.valueQuantity?.value;
    const doctor = data?.Patient?.generalPractitioner?.[0]?.resource;
    if (doctor?.__typename === 'Practitioner') doctor.name?.[0]?.given satisfies unknown;
    export const next: string | null | undefined =
      (await executeFhirGraphql(page, context)).data?.PatientConnection?.next;
    const variables: ops.AddMutationVariables = { patient: { birthDate: '1970-01-01', name: [{ family: 'A' }] } };
    const added = await executeFhirGraphql(add, { ...context, variables });
    export const made: string | null | undefined = added.data?.PatientCreate?.id;
    export const whole: Patient = { resourceType: 'Patient', birthDate: '1970-01-01' };

    // @ts-expect-error the query selects no such field
    void data?.Patient?.gender;
    // @ts-expect-error a patient that cannot be read is null
    void data?.Patient.id;
    // @ts-expect-error a date is a string
    export const wrongDate: number = data!.Patient!.birthDate!;
    // @ts-expect-error only a practitioner has its name selected
    void doctor?.name;
    // @ts-expect-error the id is required
    void executeFhirGraphql(chart, { ...context, variables: { code: 'x' } });
    // @ts-expect-error the id is required
    void executeFhirGraphql(chart, context);
    // @ts-expect-error no such element
    void executeFhirGraphql(add, { ...context, variables: { patient: { birthdate: '1970-01-01' } } });
  `,
);
const errorsOfWrong = compileClient(
  'codegen-wrong',
  'export const wrong: number = ({} as ops.ChartQuery).Patient!.birthDate!;',
);

test('graphql-codegen generates types of schema and operations that compile, and type the results', () => {
  expect(errorsOfClient()).toEqual([]);
});

test('a client that uses the generated types wrongly does not compile', () => {
  expect(errorsOfWrong()).toEqual(["test/tools/codegen-wrong.ts: Type 'string' is not assignable to type 'number'."]);
});
