import { expect, test } from 'vitest';
import { toCompile } from '../support/compile.js';
import { generateTypes } from '../tools/generate-types.js';

// urql with types by graphql-codegen, as an application would use it.

const application = `
  import type { Client, TypedDocumentNode } from '@urql/core';
  import type * as ops from '../tools/generated-operations.js';
  declare const client: Client;
  declare const chart: TypedDocumentNode<ops.ChartQuery, ops.ChartQueryVariables>;
  const { data } = await client.query(chart, { id: '1' });
  export const birthDate: string | null | undefined = data?.Patient?.birthDate;
  export const value: number | null | undefined = data?.Patient?.ObservationList?.[0]?.valueQuantity?.value;
  // @ts-expect-error the query selects no such field
  void data?.Patient?.gender;
  // @ts-expect-error the id is required
  await client.query(chart, { code: 'x' });
  // @ts-expect-error the id is a string or a number
  await client.query(chart, { id: true });
`;
const errors = toCompile(new Map([...(await generateTypes()), ['test/clients/urql-application.ts', application]]));

test('the results of urql have the generated types, and only those', () => {
  expect(errors().map(({ file, line, message }) => `${file}:${line}: ${message}`)).toEqual([]);
});
