import {
  buildSchema,
  type GraphQLEnumType,
  GraphQLSchema,
  isScalarType,
  parse,
  validate,
  validateSchema,
  type GraphQLInputObjectType,
  type GraphQLObjectType,
} from 'graphql/index.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { printFhirSchema } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { completeSchema } from '../../src/graphql/schema/complete-schema.js';
import { messages, openClinic, type Clinic } from './harness.js';

const TYPES = ['Patient', 'Observation', 'Appointment'];

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    { resourceType: 'Patient', id: '1', gender: 'female', birthDate: '1970-01-01', name: [{ use: 'official', family: 'A' }] }, // prettier-ignore
  ]);
});

const typeOf = (schema: GraphQLSchema, type: string, field: string): string =>
  String((schema.getType(type) as GraphQLObjectType | GraphQLInputObjectType).getFields()[field]?.type);

describe('scalars: fhir', () => {
  const schema = completeSchema(R4, TYPES, 'whole', { scalars: 'fhir' });

  test('primitives have their own scalars, each with specifiedBy and a description', () => {
    const { assumeValid: _, ...config } = schema.toConfig();
    expect(validateSchema(new GraphQLSchema(config))).toEqual([]);
    expect(typeOf(schema, 'Patient', 'birthDate')).toBe('date');
    expect(typeOf(schema, 'PatientInput', 'birthDate')).toBe('date');
    expect(typeOf(schema, 'Appointment', 'start')).toBe('instant');
    expect(typeOf(schema, 'Quantity', 'value')).toBe('decimal');
    expect(typeOf(schema, 'HumanName', 'given')).toBe('[String]');
    expect(typeOf(schema, 'Meta', 'profile')).toBe('[canonical]');
    const { args } = (schema.getType('Patient') as GraphQLObjectType).getFields()['identifier']!;
    expect(args.map(({ name, type }) => `${name}: ${String(type)}`)).toContain('system: uri');
    const own = Object.values(schema.getTypeMap()).filter((type) => isScalarType(type) && /^[a-z]/.test(type.name));
    expect(own.map(({ name }) => name).sort()).toEqual(
      expect.arrayContaining(['canonical', 'code', 'date', 'dateTime', 'decimal', 'instant', 'uri']),
    );
    for (const scalar of own) {
      expect(scalar).toMatchObject({
        specifiedByURL: `https://hl7.org/fhir/R4/datatypes.html#${scalar.name}`,
        description: expect.stringContaining('in JSON') as string,
      });
    }
    const sdl = printFhirSchema({ types: TYPES, scalars: 'fhir' });
    expect(sdl).toContain('scalar date @specifiedBy(url: "https://hl7.org/fhir/R4/datatypes.html#date")');
    expect(buildSchema(sdl).getType('date')).toBeDefined();
  });

  test('the engine accepts variables of these types, and introspection shows them', async () => {
    const query = 'query ($b: [date], $s: uri, $n: positiveInt) { PatientList(birthdate: $b, _count: 5) { birthDate identifier(system: $s) { value } telecom(rank: $n) { value } } }'; // prettier-ignore
    expect(validate(schema, parse(query.replace('birthdate: $b, ', '').replace('$b: [date], ', '')))).toEqual([]);
    expect(await clinic.data(query, { b: ['1970-01-01'], s: 'http://x', n: 1 })).toEqual({
      PatientList: [{ birthDate: '1970-01-01', identifier: null, telecom: null }],
    });
    const create =
      'mutation ($d: date, $c: code) { PatientCreate(res: { birthDate: $d, gender: $c }) { birthDate gender } }';
    expect(validate(schema, parse(create))).toEqual([]);
    expect(await clinic.data(create, { d: '1980', c: 'male' })).toEqual({
      PatientCreate: { birthDate: '1980', gender: 'male' },
    });
    expect(messages(await clinic.ask(create, { d: 7 })).join()).toContain('$d');
    const typed = '{ __type(name: "date") { kind specifiedByURL } }';
    expect(await clinic.data(typed, {}, { introspection: { types: TYPES, scalars: 'fhir' } })).toEqual({
      __type: { kind: 'SCALAR', specifiedByURL: 'https://hl7.org/fhir/R4/datatypes.html#date' },
    });
    expect(await clinic.data(typed, {}, { introspection: { types: TYPES } })).toEqual({ __type: null });
  });
});

describe('enums', () => {
  const schema = completeSchema(R4, TYPES, 'whole', { enums: true });

  test('codes of required bindings have an enum, named after their code system', () => {
    const { assumeValid: _, ...config } = schema.toConfig();
    expect(validateSchema(new GraphQLSchema(config))).toEqual([]);
    const gender = schema.getType('AdministrativeGender') as GraphQLEnumType;
    expect(gender.getValues().map(({ name }) => name)).toEqual(
      R4.typeDefinition('Patient')!.elements.get('gender')!.codes,
    );
    expect(typeOf(schema, 'Patient', 'gender')).toBe('AdministrativeGender');
    expect(typeOf(schema, 'PatientInput', 'gender')).toBe('AdministrativeGender');
    expect(typeOf(schema, 'PatientContact', 'gender')).toBe('AdministrativeGender');
    expect(typeOf(schema, 'Observation', 'status')).toBe('ObservationStatus');
  });

  test('queries of generated clients are executed, with enums as variables and literals', async () => {
    const query = 'query ($use: NameUse) { Patient(id: "1") { gender name(use: $use) { family } } }';
    expect(validate(schema, parse(query))).toEqual([]);
    expect(await clinic.data(query, { use: 'official' })).toEqual({
      Patient: { gender: 'female', name: [{ family: 'A' }] },
    });
    const create = 'mutation ($g: AdministrativeGender) { PatientCreate(res: { gender: $g, name: { use: usual } }) { gender name { use } } }'; // prettier-ignore
    expect(validate(schema, parse(create))).toEqual([]);
    expect(await clinic.data(create, { g: 'other' })).toEqual({
      PatientCreate: { gender: 'other', name: [{ use: 'usual' }] },
    });
  });
});

describe('semanticNonNull', () => {
  test('is on fields that are null only with an error', () => {
    const sdl = printFhirSchema({ types: ['Patient'], semanticNonNull: true });
    const schema = buildSchema(sdl);
    expect(schema.getDirective('semanticNonNull')?.args.map(({ name, type }) => `${name}: ${String(type)}`)).toEqual([
      'levels: [Int!]!',
    ]);
    const directives = (type: string, field: string): string => {
      const node = (schema.getType(type) as GraphQLObjectType).getFields()[field]!.astNode!;
      return (node.directives ?? []).map(({ name, arguments: args = [] }) => `${name.value}${args.length}`).join();
    };
    expect(directives('Query', 'Patient')).toBe('semanticNonNull0');
    expect(directives('Query', 'PatientList')).toBe('semanticNonNull1');
    expect(directives('Patient', 'resourceType')).toBe('semanticNonNull0');
    expect(directives('Patient', 'name')).toBe('semanticNonNull1');
    expect(directives('Mutation', 'PatientDelete')).toBe('');
    expect(directives('Patient', 'birthDate')).toBe('');
    expect(directives('HumanName', 'given')).toBe('');
    expect(sdl).toContain('PatientList(');
    expect(sdl).toMatch(/\): \[Patient\] @semanticNonNull\(levels: \[0, 1\]\)/);
    expect(printFhirSchema({ types: ['Patient'] })).not.toContain('semanticNonNull');
  });
});
