import { makeExecutableSchema, mergeSchemas } from '@graphql-tools/schema';
import { graphql } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { beforeAll, expect, test } from 'vitest';
import { createFhirGraphql, createRepository, MemoryStore, systemCaller } from '../../src/index.js';

const store = new MemoryStore();
const caller = systemCaller('clinic');
const service = createFhirGraphql({ store, introspection: { types: ['Patient', 'Practitioner'] } });

beforeAll(async () => {
  const repository = createRepository({ store, caller });
  await repository.update({ resourceType: 'Practitioner', id: 'p', name: [{ family: 'Stone' }] });
  await repository.update({ resourceType: 'Patient', id: 'a' });
  await repository.update({ resourceType: 'Patient', id: 'b', generalPractitioner: [{ reference: 'Practitioner/p' }] });
});

test('Yoga serves the schema', async () => {
  const yoga = createYoga({ schema: service.schema, context: () => ({ caller }), logging: false, maskedErrors: false });
  const response = await yoga.fetch('http://clinic.example/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      query:
        '{ Patient(id: "b") { generalPractitioner { resource { ... on Practitioner { name { family } } } } } no: Patient(id: "no") { id } }',
    }),
  });
  expect(await response.json()).toMatchObject({
    data: { Patient: { generalPractitioner: [{ resource: { name: [{ family: 'Stone' }] } }] }, no: null },
    errors: [{ path: ['no'], extensions: { code: 'not-found' } }],
  });
});

test('it merges with a schema of the host, whose fields the engine never sees', async () => {
  const own = makeExecutableSchema({
    typeDefs: `
      type Query { ping(x: Int): String }
      type Patient { id: ID beds(of: Int): [Bed] }
      type Bed { number: Int }
    `,
    resolvers: {
      Query: { ping: () => 'pong' },
      Patient: { beds: (patient: { id: string }, { of }: { of: number }) => [{ number: of + patient.id.length }] },
    },
  });
  const schema = mergeSchemas({ schemas: [service.schema, own] });
  expect(
    await graphql({
      schema,
      contextValue: { caller },
      source:
        'query ($x: Int, $of: Int) { ping(x: $x) Patient(id: "a") { id beds(of: $of) { ...bed } } again: PatientList(_count: 1) { id ...more } } fragment bed on Bed { number } fragment more on Patient { beds(of: 1) { number } }',
      variableValues: { x: 1, of: 6 },
    }),
  ).toEqual({
    data: { ping: 'pong', Patient: { id: 'a', beds: [{ number: 7 }] }, again: [{ id: 'a', beds: [{ number: 2 }] }] },
  });
});
