// Asks Apollo Server over the service's executable schema, on the graphql 16 that it takes.
import assert from 'node:assert/strict';
import { ApolloServer } from '@apollo/server';
import { createFhirGraphql, createRepository, MemoryStore, systemCaller } from 'fhirgraph';

const store = new MemoryStore();
const caller = systemCaller('clinic');
const repository = createRepository({ store, caller });
await repository.update({ resourceType: 'Practitioner', id: 'p', gender: 'female' });
await repository.update({ resourceType: 'Patient', id: 'a', generalPractitioner: [{ reference: 'Practitioner/p' }] });
const { schema } = createFhirGraphql({ store, introspection: { types: ['Patient', 'Practitioner'] } });
const server = new ApolloServer({ schema });

async function ask(query, variables) {
  const { body } = await server.executeOperation({ query, variables }, { contextValue: { caller } });
  return JSON.parse(JSON.stringify(body.singleResult));
}

assert.deepEqual(
  (await ask('{ list: PatientList { id generalPractitioner { resource { ... on Practitioner { gender } } } } }')).data,
  { list: [{ id: 'a', generalPractitioner: [{ resource: { gender: 'female' } }] }] },
);
const failed = await ask('query ($id: ID!) { Patient(id: $id) { id } }', { id: 'none' });
assert.equal(failed.data.Patient, null);
assert.deepEqual([failed.errors[0].path, failed.errors[0].extensions.code], [['Patient'], 'not-found']);
const refused = await ask('{ Patient(id: a) { id } }');
assert.equal(refused.errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED');
console.log('answers over the executable schema');
