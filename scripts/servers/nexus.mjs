// Nexus builds its schema around the executable one: root fields of both, and a field of its own on Patient.
import assert from 'node:assert/strict';
import { graphql } from 'graphql';
import nexus from 'nexus';
import { bedOf, twoPatients } from './two-patients.mjs';

const { service, caller, takeCalls } = await twoPatients();
const { extendType, makeSchema, objectType, queryField } = nexus;
const schema = makeSchema({
  types: [
    objectType({ name: 'Bed', definition: (t) => t.nonNull.int('number') }),
    extendType({
      type: 'Patient',
      definition: (t) => t.field('bed', { type: 'Bed', resolve: ({ id }) => bedOf(id) }),
    }),
    queryField('freeBeds', { type: 'Int', resolve: () => 12 }),
  ],
  mergeSchema: { schema: service.schema },
  outputs: false,
});

const source = '{ freeBeds PatientList(_sort: "_id") { id gender bed { number } } Patient(id: "a") { active } }';
assert.deepEqual(JSON.parse(JSON.stringify(await graphql({ schema, source, contextValue: { caller } }))), {
  data: {
    freeBeds: 12,
    PatientList: [
      { id: 'a', gender: 'female', bed: { number: 1 } },
      { id: 'b', gender: 'female', bed: { number: 2 } },
    ],
    Patient: { active: null },
  },
});
assert.deepEqual(takeCalls().sort(), ['read', 'search']);
console.log('merges');
