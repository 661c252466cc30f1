// Apollo Gateway plans and executes queries over the service and a second subgraph, both in this process.
import assert from 'node:assert/strict';
import { composeServices } from '@apollo/composition';
import { ApolloGateway } from '@apollo/gateway';
import { buildSchema, graphql, parse } from 'graphql';
import { bedOf, twoPatients } from './two-patients.mjs';

const { service, caller, takeCalls } = await twoPatients({ federation: true });
const fhir = service.printSchema({ federation: true });
const types = `
  type Query { beds: [Bed!]! }
  type Bed @key(fields: "number") { number: Int! patient: Patient }
  type Patient @key(fields: "id") { id: ID! bed: Bed }
`;
const link = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])';
const { errors, supergraphSdl } = composeServices([
  { name: 'fhir', url: 'http://fhir', typeDefs: parse(fhir) },
  { name: 'beds', url: 'http://beds', typeDefs: parse(link + types) },
]);
assert.equal(errors, undefined);

// The second subgraph, written by hand: a router asks for its entities by their keys.
const bedSchema = buildSchema(
  `directive @key(fields: String!) on OBJECT scalar _Any union _Entity = Patient | Bed ${types}
   extend type Query { _entities(representations: [_Any!]!): [_Entity]! }`,
);
bedSchema.getType('_Entity').resolveType = ({ __typename }) => __typename;
const bedRoot = {
  beds: () => [bedOf('b'), bedOf('z')],
  _entities: ({ representations }) => representations.map(({ id }) => ({ __typename: 'Patient', id, bed: bedOf(id) })),
};
const requests = [];
const subgraphs = {
  fhir: ({ query, variables }, context) => service.execute(query, { caller: context.caller, variables }),
  beds: ({ query, variables }) =>
    graphql({ schema: bedSchema, source: query, rootValue: bedRoot, variableValues: variables }),
};
const gateway = new ApolloGateway({
  supergraphSdl,
  buildService: ({ name }) => ({
    async process({ request, context }) {
      requests.push(name);
      return JSON.parse(JSON.stringify(await subgraphs[name](request, context)));
    },
  }),
  logger: { debug() {}, info() {}, warn: console.warn, error: console.error },
});
const { executor } = await gateway.load();

async function ask(query, variables = {}) {
  const document = parse(query);
  const answer = await executor({
    document,
    request: { query, variables },
    operation: document.definitions[0],
    operationName: undefined,
    queryHash: query,
    schema: gateway.schema,
    context: { caller },
    overallCachePolicy: {},
    cache: undefined,
    metrics: {},
    logger: console,
  });
  return JSON.parse(JSON.stringify(answer));
}

const list = 'query ($n: Int) { PatientList(_sort: "_id", _count: $n) { id gender bed { number } } }';
assert.deepEqual((await ask(list, { n: 2 })).data, {
  PatientList: [
    { id: 'a', gender: 'female', bed: { number: 1 } },
    { id: 'b', gender: 'female', bed: { number: 2 } },
  ],
});
assert.deepEqual([requests.splice(0), takeCalls()], [['fhir', 'beds'], ['search']]);

assert.deepEqual((await ask('{ beds { number patient { id gender } } }')).data, {
  beds: [
    { number: 2, patient: { id: 'b', gender: 'female' } },
    { number: 26, patient: { id: 'z', gender: null } },
  ],
});
assert.deepEqual([requests.splice(0), takeCalls()], [['beds', 'fhir'], ['read']]);

const failed = await ask('{ Patient(id: "none") { id bed { number } } }');
assert.equal(failed.data.Patient, null);
assert.equal(failed.errors[0].extensions.code, 'not-found');
await gateway.stop();
console.log('plans and executes queries over two subgraphs');
