// Merges the executable schema with one that Pothos builds, which adds a field to Patient and a root field.
import assert from 'node:assert/strict';
import { mergeSchemas } from '@graphql-tools/schema';
import SchemaBuilder from '@pothos/core';
import { graphql } from 'graphql';
import { bedOf, twoPatients } from './two-patients.mjs';

const { service, caller, takeCalls } = await twoPatients();
const builder = new SchemaBuilder({});
const bed = builder.objectRef('Bed').implement({ fields: (t) => ({ number: t.exposeInt('number') }) });
builder.objectRef('Patient').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    bed: t.field({ type: bed, nullable: true, resolve: ({ id }) => bedOf(id) }),
  }),
});
builder.queryType({ fields: (t) => ({ freeBeds: t.int({ resolve: () => 12 }) }) });
const schema = mergeSchemas({ schemas: [service.schema, builder.toSchema()] });

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
