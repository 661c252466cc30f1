// Stitches the executable schema with a schema of the host: types merge in both directions, and each side is asked once.
import assert from 'node:assert/strict';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { resolveExternalValue } from '@graphql-tools/delegate';
import { stitchSchemas } from '@graphql-tools/stitch';
import { defaultCreateProxyingResolver } from '@graphql-tools/wrap';
import { graphql } from 'graphql';
import { bedOf, twoPatients } from './two-patients.mjs';

// `_entities` reads all ids at once, in their order.
const { service, caller, takeCalls } = await twoPatients({ federation: true });
const asked = [];
const beds = makeExecutableSchema({
  typeDefs: `
    type Query { beds: [Bed!]! patientsById(ids: [ID!]!): [Patient] }
    type Bed { number: Int! patient: Patient }
    type Patient { id: ID bed: Bed }
  `,
  resolvers: {
    Query: {
      beds: () => [bedOf('b'), bedOf('z')],
      patientsById(_, { ids }) {
        asked.push(...ids);
        return ids.map((id) => ({ id, bed: bedOf(id) }));
      },
    },
  },
});
// Stitching delegates root fields one by one; those of a mutation go to the service whole, so that they stay one commit.
const wholeMutations = (options) => {
  if (options.operation !== 'mutation') return defaultCreateProxyingResolver(options);
  const fields = service.schema.getMutationType().getFields();
  return async (root, args, context, info) => {
    const value = await fields[info.fieldName].resolve(root, args, context, info);
    return resolveExternalValue(value, [], options.subschemaConfig, context, info);
  };
};

const schema = stitchSchemas({
  subschemas: [
    {
      schema: service.schema,
      batch: true,
      createProxyingResolver: wholeMutations,
      merge: {
        Patient: {
          selectionSet: '{ id }',
          fieldName: '_entities',
          key: ({ id }) => ({ __typename: 'Patient', id }),
          argsFromKeys: (representations) => ({ representations }),
        },
      },
    },
    {
      schema: beds,
      batch: true,
      merge: {
        Patient: {
          selectionSet: '{ id }',
          fieldName: 'patientsById',
          key: ({ id }) => id,
          argsFromKeys: (ids) => ({ ids }),
        },
      },
    },
  ],
});
async function ask(source, variableValues) {
  return JSON.parse(JSON.stringify(await graphql({ schema, source, variableValues, contextValue: { caller } })));
}

const list = 'query ($n: Int) { PatientList(_sort: "_id", _count: $n) { id gender bed { number } } }';
assert.deepEqual(await ask(list, { n: 2 }), {
  data: {
    PatientList: [
      { id: 'a', gender: 'female', bed: { number: 1 } },
      { id: 'b', gender: 'female', bed: { number: 2 } },
    ],
  },
});
assert.deepEqual([takeCalls(), asked], [['search'], ['a', 'b']]);

assert.deepEqual(await ask('{ beds { number patient { id gender } } }'), {
  data: {
    beds: [
      { number: 2, patient: { id: 'b', gender: 'female' } },
      { number: 26, patient: { id: 'z', gender: null } },
    ],
  },
});
assert.deepEqual(takeCalls(), ['read']);

const mutation = `mutation {
  one: PatientUpdate(id: "a", res: { gender: "male" }) { id sex: gender bed { number } }
  two: PatientUpdate(id: "b", res: { gender: "male" }) { sex: gender }
}`;
assert.deepEqual(await ask(mutation), {
  data: { one: { id: 'a', sex: 'male', bed: { number: 1 } }, two: { sex: 'male' } },
});
assert.deepEqual(
  takeCalls().filter((name) => name === 'commit'),
  ['commit'],
);

const failed = await ask('{ Patient(id: "none") { id } }');
assert.deepEqual([failed.data, failed.errors[0].extensions.code], [{ Patient: null }, 'not-found']);
console.log('stitches, each side asked once');
