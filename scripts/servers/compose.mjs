// Composes the service with a second subgraph into a supergraph, and answers what its router would ask of both.
import assert from 'node:assert/strict';
import { composeServices } from '@apollo/composition';
import { createFhirGraphql, createRepository, MemoryStore, systemCaller } from 'fhirgraph';
import { parse } from 'graphql';

const store = new MemoryStore();
const caller = systemCaller('clinic');
await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'a', gender: 'female' });
const service = createFhirGraphql({ store, federation: true });

const beds = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])
type Query { freeBeds: [Bed!]! }
type Bed @key(fields: "number") { number: Int! patient: Patient }
type Patient @key(fields: "id") { id: ID! bed: Bed }`;
const { data } = await service.execute('{ _service { sdl } }', { caller });
assert.equal(data._service.sdl, service.printSchema({ federation: true }));
const { errors, supergraphSdl } = composeServices([
  { name: 'fhir', url: 'http://fhir', typeDefs: parse(data._service.sdl) },
  { name: 'beds', url: 'http://beds', typeDefs: parse(beds) },
]);
assert.equal(errors, undefined);
assert.match(supergraphSdl, /type Patient[^{]*graph: BEDS, key: "id"[^{]*graph: FHIR, key: "id"/);

const query = `query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on Patient { gender } } }`;
const variables = { representations: [{ __typename: 'Patient', id: 'a' }] };
assert.deepEqual((await service.execute(query, { caller, variables })).data, { _entities: [{ gender: 'female' }] });
console.log('composes');
