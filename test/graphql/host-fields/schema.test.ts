import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { FhirModel } from '../../../src/fhir/model/fhir-model.js';
import { createFhirGraphql, MemoryStore, validateFhirGraphql } from '../../../src/index.js';
import { R4 } from '../../../src/store.js';
import { ServiceModel } from '../../../src/graphql/schema/host/service-model.js';
import { caller } from '../harness.js';

const store = new MemoryStore();
const resolve = (): [] => [];
const print = (fields: unknown, types?: string): string =>
  createFhirGraphql({ store, fields: fields as never, types }).printSchema({ types: ['Patient'] });

test('the SDL has fields, types, arguments, defaults, descriptions and deprecations', () => {
  const sdl = print(
    {
      Patient: {
        risk: {
          type: '[Risk!]!',
          description: 'How likely it is',
          args: {
            bands: '[Band!]! = [HIGH]',
            at: { type: 'Span = { from: 1 }', description: 'When' },
            old: { type: 'Int', deprecated: 'use at' },
          },
          resolve,
        },
        score: { type: 'Float', deprecated: 'use risk', resolve },
      },
      Mutation: { accept: { type: 'Boolean', args: { patient: 'PatientInput!' }, resolve } },
      Risk: { more: { type: 'Patient', resolve } },
    },
    `"A risk" type Risk { "In percent" value: Float! band: Band @deprecated(reason: "none") }
     enum Band { LOW "Very" HIGH }
     input Span { from: Int! to: Int = 5 }
     scalar Day @specifiedBy(url: "https://example.org/day")
     type Other { day: Day }`,
  );
  expect(() => buildSchema(sdl)).not.toThrow();
  for (const part of [
    `  """How likely it is"""\n  risk(\n    bands: [Band!]! = [HIGH]\n\n    """When"""\n    at: Span = {from: 1}\n    old: Int @deprecated(reason: "use at")\n  ): [Risk!]!\n  score: Float @deprecated(reason: "use risk")\n`,
    `"""A risk"""\ntype Risk {\n  """In percent"""\n  value: Float!\n  band: Band @deprecated(reason: "none")\n  more: Patient\n}`,
    `enum Band {\n  LOW\n\n  """Very"""\n  HIGH\n}`,
    `input Span {\n  from: Int!\n  to: Int = 5\n}`,
    `accept(patient: PatientInput!): Boolean`,
  ]) {
    // graphql 17 writes spaces inside the braces of values.
    expect(sdl.replace('{ from: 1 }', '{from: 1}')).toContain(part);
  }
});

describe('an invalid definition is refused when the service is created, with its location', () => {
  test.each<[fields: unknown, types: string | undefined, message: string]>([
    [
      { Patiend: { a: { type: 'Int', resolve } } },
      undefined,
      'fields.Patiend: there is no type that could have fields of this name. Did you mean "Patient"?',
    ],
    [
      { PatientConnection: { a: { type: 'Int', resolve } } },
      undefined,
      'fields.PatientConnection: there is no type that could have fields of this name.',
    ],
    [
      { Patient: { birthDate: { type: 'Int', resolve } } },
      undefined,
      'fields.Patient.birthDate: Patient has a field of this name',
    ],
    [
      { Patient: { ObservationList: { type: 'Int', resolve } } },
      undefined,
      'fields.Patient.ObservationList: Patient has a field of this name',
    ],
    [
      { Resource: { gender: { type: 'Int', resolve } } },
      undefined,
      'fields.Resource.gender: Patient has a field of this name',
    ],
    [
      { Patient: { '9': { type: 'Int', resolve } } },
      undefined,
      'fields.Patient.9: a name has letters, digits and _, no digit first and no two _ first',
    ],
    [
      { Patient: { __a: { type: 'Int', resolve } } },
      undefined,
      'fields.Patient.__a: a name has letters, digits and _, no digit first and no two _ first',
    ],
    [
      { Patient: { a: { resolve } } },
      undefined,
      'fields.Patient.a.type: the type must be a string in SDL, such as "[Float!]"',
    ],
    [
      { Patient: { a: { type: '[Int', resolve } } },
      undefined,
      'fields.Patient.a.type: Syntax Error: Expected "]", found <EOF>.',
    ],
    [
      { Patient: { a: { type: 'Flaot', resolve } } },
      undefined,
      'fields.Patient.a: there is no type "Flaot". Did you mean "Flag", "Float", "Slot", "Bot" or "Claim"?',
    ],
    [{ Patient: { a: { type: 'I', resolve } } }, 'input I { a: Int }', 'fields.Patient.a: "I" is a type for input'],
    [{ Patient: { a: { type: 'Int' } } }, undefined, 'fields.Patient.a: resolve is missing'],
    [{ Patient: { a: { type: 'Int', resolve: 1 } } }, undefined, 'fields.Patient.a: resolve must be a function'],
    [
      { Patient: { a: { type: 'Int', resolve, need: [] } } },
      undefined,
      'fields.Patient.a: there is no option called "need" here',
    ],
    [
      { Patient: { a: { type: 'Int', resolve, needs: ['birthdate'] } } },
      undefined,
      'fields.Patient.a.needs: Patient has no element "birthdate". Did you mean "birthDate"?',
    ],
    [
      { Patient: { a: { type: 'Int', resolve, needs: 'birthDate' } } },
      undefined,
      'fields.Patient.a.needs: needs is a list of element names, or "*" for all',
    ],
    [
      { Patient: { a: { type: 'Int', resolve, cost: -1 } } },
      undefined,
      'fields.Patient.a: cost must be a number of at least 0',
    ],
    [
      { Patient: { a: { type: 'Int', resolve, args: { x: 'Int } type T { a: Int' } } } },
      undefined,
      'fields.Patient.a.args.x: the text must be one type, with its default',
    ],
    [
      { Patient: { a: { type: 'Int', resolve, args: { x: 'Patient' } } } },
      undefined,
      'fields.Patient.a.args.x: there is no input type "Patient"',
    ],
    [
      { Patient: { a: { type: 'Int', resolve, args: { x: 'Int! = null' } } } },
      undefined,
      'fields.Patient.a.args.x: the default may not be null',
    ],
    [
      { Query: { a: { type: 'Int', resolve, needs: ['id'] } } },
      undefined,
      'fields.Query.a: there is no option called "needs" here',
    ],
    [
      { Query: { Patient: { type: 'Int', resolve } } },
      undefined,
      'fields.Query.Patient: Query has a field of this name',
    ],
    [
      { Mutation: { a: { type: 'Int', resolve, writes: resolve } } },
      undefined,
      'fields.Mutation.a: a field has either resolve or writes',
    ],
    [
      { Mutation: { a: { type: 'Int', writes: resolve } } },
      undefined,
      'fields.Mutation.a: result is missing: "Int" is neither a resource type nor Boolean',
    ],
    [{}, 'type Patient { a: Int }', 'types, Patient: the schema has a type of this name'],
    [{}, 'type PatientInput { a: Int }', 'types, PatientInput: the schema has a type of this name'],
    [{}, 'type A { a: Int } enum A { B }', 'types: A is defined twice'],
    [{}, 'type A { a: B }', 'types, A.a: there is no type "B". Did you mean "A"?'],
    [{}, 'type A { a(x: Int): Int }', 'types, A.a: a field with arguments needs a resolver; declare it as fields.A.a'],
    [{}, 'union A = B', 'types: the text may define object types, enums, inputs and scalars; "A" is something else'],
    [{}, '{ a }', 'types: the text may define object types, enums, inputs and scalars'],
    [{}, 'type A {', 'types: Syntax Error: Expected Name, found <EOF>.'],
    [{ A: { a: { type: 'Int', resolve } } }, 'type A { a: Int }', 'fields.A.a: A has a field of this name'],
    [null, undefined, 'fields: they are an object, with the fields by type'],
  ])('%j %s', (fields, types, message) => {
    let refused: unknown;
    try {
      createFhirGraphql({ store, fields: fields as never, types });
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: 'invalid' });
    expect((refused as Error).message).toBe(message);
  });
});

test('services with different fields over one store are independent', async () => {
  const field = (value: number) => ({ Query: { n: { type: 'Int', resolve: () => value } } });
  const services = [field(1), field(2)].map((fields) => createFhirGraphql({ store, fields }));
  for (let round = 0; round < 2; round += 1) {
    expect(await Promise.all(services.map((service) => service.execute('{ n }', { caller })))).toEqual([
      { data: { n: 1 } },
      { data: { n: 2 } },
    ]);
  }
});

test('the model of a service has all definitions of its store', () => {
  const model = new ServiceModel(R4, { fields: new Map(), types: new Map() }, false);
  const own = Object.getOwnPropertyNames(ServiceModel.prototype).sort();
  expect(own).toEqual(Object.getOwnPropertyNames(FhirModel.prototype).sort());
  expect(model.typeDefinition('Patient')).toBe(R4.typeDefinition('Patient'));
  expect(model.searchParameters('Patient')).toBe(R4.searchParameters('Patient'));
  expect(model.resourceTypes).toBe(R4.resourceTypes);
  expect(model.fingerprint).toBe(R4.fingerprint);
});

test('documents with fields of the host are validated without a store', async () => {
  const options = {
    fields: { Patient: { near: { type: '[Patient]', args: { of: 'Int!' }, resolve } } },
    types: 'type Own { a: Int }',
  };
  const found = await validateFhirGraphql(
    {
      good: '{ PatientList { near(of: 1) { name(fhirpath: "use = \'official\'") { family } } } }',
      bad: '{ PatientList { near(of: 1) { name(fhirpath: "use = ") { family } } } }',
      worse: '{ PatientList { near { id } } }',
    },
    options,
  );
  expect(found.errors.map(({ document, message }) => [document, message])).toEqual([
    ['bad', expect.stringContaining('FHIRPath')],
    ['worse', expect.stringMatching(/of.* of type "Int!" is required/)],
  ]);
});
