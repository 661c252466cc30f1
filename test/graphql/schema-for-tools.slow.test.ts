import { printFhirSchema } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import {
  buildClientSchema,
  buildSchema,
  execute,
  getIntrospectionQuery,
  type GraphQLInputObjectType,
  type GraphQLNamedType,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  type IntrospectionQuery,
  isInputObjectType,
  isInterfaceType,
  parse,
  printSchema,
  specifiedDirectives,
  validate,
  validateSchema,
} from 'graphql/index.js';
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { completeSchema } from '../../src/graphql/schema/complete-schema.js';
import { fieldsOf } from '../../src/graphql/schema/fields.js';
import { FhirSchema } from '../../src/graphql/schema/schema.js';
import { IS_WHOLE } from '../support/chance.js';
import { hasShared, SHARED, sharedText } from '../support/shared.js';
import { failures, messages, openClinic } from './harness.js';

const FEW = ['Observation', 'Organization', 'Patient'];
const whole = completeSchema(R4);
const clinic = await openClinic([{ resourceType: 'Patient', id: '1', birthDate: '1970-01-01' }]);

describe('the executable schema', () => {
  test('has the types that graphql-js finds, in the same order', () => {
    for (const types of IS_WHOLE ? [undefined, FEW] : [FEW]) {
      const schema = completeSchema(R4, types, 'whole', { enums: true }, specifiedDirectives);
      const { types: _, ...config } = schema.toConfig();
      const kept = (types ?? R4.resourceTypes).map((type) => schema.getType(type)!);
      const theirs = new GraphQLSchema({ ...config, types: kept });
      expect(Object.keys(schema.getTypeMap())).toEqual(Object.keys(theirs.getTypeMap()));
      const [resource] = kept as GraphQLObjectType[];
      expect(resource!.getInterfaces().map((type) => schema.getPossibleTypes(type))).toEqual([kept]);
    }
  });

  test('is valid, whole and pruned', () => {
    for (const types of IS_WHOLE ? [undefined, FEW] : [FEW]) {
      // The schema claims to be valid, so graphql-js validates a copy that does not.
      const { assumeValid, ...config } = completeSchema(R4, types).toConfig();
      expect(assumeValid).toBe(true);
      expect(validateSchema(new GraphQLSchema(config))).toEqual([]);
    }
  });

  /** What has no description. */
  function undescribed(schema: GraphQLSchema, hasAll: (type: GraphQLNamedType) => boolean): string[] {
    const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
    const missing = types.flatMap((type) => {
      const fields = 'getFields' in type && !isInputObjectType(type) ? Object.values(type.getFields()) : [];
      const args = hasAll(type) ? fields.flatMap((field) => ('args' in field ? field.args : [])) : [];
      const inputs = isInputObjectType(type) && hasAll(type) ? Object.values(type.getFields()) : [];
      return [type, ...fields, ...args, ...inputs, ...schema.getDirectives().flatMap(({ args }) => args)];
    });
    return missing.filter(({ description }) => !description).map(String);
  }

  test.runIf(IS_WHOLE)('describes every type, field, argument and input field', () => {
    expect(undescribed(whole, () => true)).toEqual([]);
    // In brief, the lists at the root describe what other lists, connections, filters and inputs have, too. The fields of primitive
    // elements describe those like `_birthDate`.
    const brief = completeSchema(R4, undefined, 'brief');
    const missing = undescribed(brief, (type) => type === brief.getQueryType());
    expect(missing.filter((name) => !/^Query\.\w+Connection\(|^\w+\._\w+$/.test(name))).toEqual([]);
  });

  test('has every resource type, and few enough types for tools', () => {
    for (const type of R4.resourceTypes) {
      expect(whole.getType(type)).toBeInstanceOf(GraphQLObjectType);
      expect((whole.getType(type) as GraphQLObjectType).getInterfaces().map(({ name }) => name)).toEqual(['Resource']);
    }
    expect(Object.keys(whole.getTypeMap()).length).toBeLessThan(2000);
  });

  test('has the fields that queries are checked against, with their types and arguments', () => {
    const strict = (type: unknown): string => String(type);
    const lazy = new FhirSchema(R4, 'standard');
    for (const name of [
      'Query',
      'Mutation',
      'Patient',
      'Observation',
      'HumanName',
      'Reference',
      'PatientConnection',
      'Timing',
    ]) {
      const [ours, theirs] = [lazy, completeSchema(R4, FEW)].map((schema) =>
        (schema.getType(name) as GraphQLObjectType).getFields(),
      );
      const kept = [...fieldsOf(R4, name)!.values()].filter(
        (field) =>
          field.kind !== 'choice' &&
          !(
            ['read', 'write', 'list', 'connection'].includes(field.kind) &&
            'type' in field &&
            !FEW.includes(field.type)
          ),
      );
      expect(Object.keys(theirs!)).toEqual(kept.map((field) => field.name));
      for (const field of kept) {
        expect(strict(theirs![field.name]!.type)).toBe(strict(ours![field.name]!.type));
        const args = (of: typeof ours): unknown =>
          of![field.name]!.args.map((one) => `${one.name}: ${strict(one.type)}`);
        // Of the two names of a read's id, tools see only one, as required.
        expect(args(theirs)).toEqual(field.kind === 'read' ? ['id: ID!'] : args(ours));
      }
    }
  });

  test('has the input types that resources are checked against, with standard scalars', () => {
    const lazy = new FhirSchema(R4, 'standard');
    for (const name of ['PatientInput', 'HumanNameInput', 'ExtensionInput', 'ElementInput', 'PatchOperation']) {
      const [ours, theirs] = [lazy, completeSchema(R4, FEW)].map((schema) =>
        Object.entries((schema.getType(name) as GraphQLInputObjectType).getFields()).map(
          ([field, { type }]) => `${field}: ${String(type)}`,
        ),
      );
      expect(theirs).toEqual(ours);
    }
    const birthDate = (completeSchema(R4, FEW).getType('PatientInput') as GraphQLInputObjectType).getFields()[
      'birthDate'
    ];
    expect(birthDate?.type).toBe(GraphQLString);
  });

  test('has only the given types and the types that they use', () => {
    const schema = completeSchema(R4, FEW);
    const fields = Object.keys(schema.getQueryType()!.getFields());
    expect(fields).toEqual(FEW.flatMap((type) => [type, `${type}List`, `${type}Connection`]));
    const resource = schema.getType('Resource');
    expect(isInterfaceType(resource) && schema.getPossibleTypes(resource).map(({ name }) => name)).toEqual(FEW);
    expect(schema.getType('Encounter')).toBeUndefined();
    expect(schema.getType('HumanName')).toBeDefined();
    expect(() => completeSchema(R4, ['Nothing'])).toThrow('Unknown resource type "Nothing"');
    expect(() => completeSchema(R4, ['HumanName'])).toThrow('Unknown resource type');
  });

  test('requires the id of a read, under the one name of the specification', async () => {
    const { args } = whole.getQueryType()!.getFields()['Patient']!;
    expect(args.map(({ name, type }) => `${name}: ${String(type)}`)).toEqual(['id: ID!']);
    expect(printFhirSchema({ types: FEW })).toContain('id: ID!\n  ): Patient');
    const query = '{ __type(name: "Query") { fields { name args { name type { kind ofType { name } } } } } }';
    const { __type } = (await clinic.data(query, {}, { introspection: { types: FEW } })) as {
      __type: { fields: { name: string; args: unknown[] }[] };
    };
    expect(__type.fields.find(({ name }) => name === 'Patient')!.args).toEqual([
      { name: 'id', type: { kind: 'NON_NULL', ofType: { name: 'ID' } } },
    ]);
    expect(await clinic.data('{ Patient(_id: "1") { id } }')).toEqual({ Patient: { id: '1' } });
    expect(await clinic.data('query ($id: ID) { Patient(id: $id) { id } }', { id: '1' })).toEqual({
      Patient: { id: '1' },
    });
  });

  test('accepts the strict documents of the guide', () => {
    const documents = [
      '{ PatientList(address_city: "Bern", _sort: "-birthdate", _count: 2) { id name(use: "official") { given } } }',
      'query ($c: String, $id: ID!) { PatientConnection(cursor: $c) { next edges { resource { id } } } Patient(id: $id) { id } }',
      '{ ObservationList { subject { resource { id ... on Patient { birthDate } } } performer { resource(type: Organization) { id } } } }',
      '{ PatientList { ObservationList(_reference: subject, code: ["a", "b"]) { valueQuantity { value } } } }',
      '{ PatientList { ProvenanceList(_reference: "target", _filter: "recorded gt 2020") { id } } }',
      '{ PatientList { name @flatten @first { given @slice(path: "$index") } } }',
    ];
    for (const text of documents) expect(validate(whole, parse(text))).toEqual([]);
    expect(validate(whole, parse('{ PatientList { birthdate } }'))[0]?.message).toContain('Did you mean');
  });

  test('accepts the corpus except liberal input, instances and invalid documents', () => {
    const isRefused = (text: string): boolean => {
      try {
        return validate(whole, parse(text)).length > 0;
      } catch {
        return true;
      }
    };
    const documents = readdirSync(`${SHARED}/corpus`).filter((file) => file.endsWith('.graphql'));
    const refused = documents.filter((file) => isRefused(sharedText(`corpus/${file}`))).map((file) => file.slice(0, 2));
    const liberal = ['02', '08', '09', '11', '17', '25', '31', '36', '42', '58', '59', '62'];
    const aboutInstances = ['68', '69', '70'];
    const wrong = ['73', '74', '75', '76', '77', '78'];
    expect(documents.length).toBe(hasShared ? 80 : 18);
    expect(refused).toEqual(
      hasShared ? [...liberal, ...aboutInstances, ...wrong] : ['02', '08', '11', '16', '17', '18'],
    );
  });
});

describe('printFhirSchema', () => {
  test('prints SDL that builds the same schema again', () => {
    const text = printFhirSchema({ types: FEW });
    expect(`${printSchema(buildSchema(text))}\n`).toBe(text);
    expect(printFhirSchema({ types: FEW.toReversed() })).toBe(text);
    expect(text).toContain('\ninterface Resource {\n');
    expect(text).toContain('\n  """The date of birth for the individual"""\n  birthDate: String\n');
    expect(text).toContain('\n  PatientConnection(\n');
    expect(text).toContain('directive @flatten on FIELD\n');
    expect(text).toContain('\n    _reference: SearchParameterName!\n');
    expect(text).toContain(
      '\n    Only items with this value: usual | official | temp | nickname | anonymous | old | maiden\n',
    );
    expect(text).toContain('\ninput PatientInput {\n');
    expect(text).toContain('\n  """male | female | other | unknown"""\n  gender: String\n');
  });

  test.runIf(IS_WHOLE)('prints the whole schema as SDL that builds it again, in a size that tools can handle', () => {
    const text = printFhirSchema();
    expect(text.length).toBeGreaterThan(2_000_000);
    expect(text.length).toBeLessThan(4_000_000);
    expect(`${printSchema(buildSchema(text))}\n` === text).toBe(true);
  });
});

describe('introspection', () => {
  const few = { introspection: { types: FEW } };

  test('gives the answer of graphql-js for the same schema', async () => {
    const query = getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
    });
    const answer = await clinic.ask(query, {}, few);
    expect(answer).toEqual(await execute({ schema: completeSchema(R4, FEW), document: parse(query) }));
    const rebuilt = buildClientSchema(answer.data as unknown as IntrospectionQuery);
    // GraphiQL and other tools that introspect see the same as tools that read the SDL.
    expect(`${printSchema(rebuilt)}\n`).toBe(printFhirSchema({ types: FEW }));
    // Repeated introspection returns the same frozen object.
    const again = await clinic.ask(query, {}, few);
    expect(again.data!['__schema']).toBe(answer.data!['__schema']);
    expect(Object.isFrozen((again.data as unknown as IntrospectionQuery).__schema.types[0])).toBe(true);
  });

  test.runIf(IS_WHOLE)('answers for all types in less than 10 MB', async () => {
    const { data, errors } = await clinic.ask(getIntrospectionQuery());
    expect(errors).toBeUndefined();
    const { types } = (data as unknown as IntrospectionQuery).__schema;
    expect(types.map(({ name }) => name)).toEqual(
      expect.arrayContaining([...R4.resourceTypes, 'Query', 'HumanName', '__Type']),
    );
    expect(JSON.stringify(data).length).toBeLessThan(10_000_000);
  });

  test('in brief has all elements, inputs and root fields, and the lists of common types', async () => {
    const brief = completeSchema(R4, undefined, 'brief');
    const names = (schema: GraphQLSchema, type: string): string[] =>
      Object.keys((schema.getType(type) as GraphQLObjectType).getFields());
    const args = (schema: GraphQLSchema, type: string, field: string): string[] =>
      (schema.getType(type) as GraphQLObjectType).getFields()[field]!.args.map(({ name }) => name);
    expect(Object.keys(brief.getTypeMap()).sort()).toEqual(Object.keys(whole.getTypeMap()).sort());
    for (const type of ['Query', 'Mutation', 'HumanName', 'PlanDefinitionAction', 'PatientInput', 'BundleEntryInput']) {
      expect(names(brief, type)).toEqual(names(whole, type));
    }
    for (const type of ['Patient', 'Medication', 'PlanDefinition']) {
      const elements = [...R4.typeDefinition(type)!.elements.keys()];
      expect(names(brief, type)).toEqual(expect.arrayContaining(elements));
    }
    for (const field of ['PatientList', 'PlanDefinitionConnection']) {
      expect(args(brief, 'Query', field)).toEqual(args(whole, 'Query', field));
    }
    expect(args(brief, 'Patient', 'ObservationList')).toEqual(args(whole, 'Patient', 'ObservationList'));
    expect(args(brief, 'Patient', 'name')).toEqual(args(whole, 'Patient', 'name'));
    expect(args(brief, 'Encounter', 'ObservationList')).toEqual(['_reference', '_filter', '_sort', '_count']);
    expect(args(brief, 'Patient', 'extension')).toEqual(['url']);
    expect(args(brief, 'PlanDefinition', 'action')).toEqual(['fhirpath']);
    const below = (schema: GraphQLSchema): string[] =>
      names(schema, 'Observation').filter((name) => /[A-Z]/.test(name[0]!));
    expect(below(brief).filter((name) => name.endsWith('Connection'))).toEqual([]);
    expect(below(brief)).toEqual(expect.arrayContaining(['ProvenanceList', 'TaskList', 'DiagnosticReportList']));
    expect(below(whole)).toEqual(expect.arrayContaining([...below(brief), 'AuditEventList', 'ProvenanceConnection']));

    const { data } = await clinic.ask(
      '{ __type(name: "Observation") { fields { name } } }',
      {},
      {
        introspection: { detail: 'whole' },
      },
    );
    const { fields } = data!['__type'] as { fields: readonly { name: string }[] };
    expect(fields.map(({ name }) => name)).toEqual(names(whole, 'Observation'));
  });

  test('can be combined with data, aliases, fragments, variables, @skip and @include', async () => {
    const query = `query ($name: String!, $no: Boolean = false) {
      Patient(id: "1") { birthDate }
      ...schema
      t: __type(name: $name) { kind name fields { name type { ...ref } } skipped: description @include(if: $no) }
      none: __type(name: "Nothing") { name }
    }
    fragment schema on Query { __schema { queryType { __typename n: name } mutationType { name } } }
    fragment ref on __Type { kind name ofType { kind name } }`;
    const { data, errors } = await clinic.ask(query, { name: 'PatientConnectionEdge' }, few);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      Patient: { birthDate: '1970-01-01' },
      __schema: {
        queryType: { __typename: '__Type', n: 'Query' },
        mutationType: expect.toSatisfy(() => true) as unknown,
      },
      t: {
        kind: 'OBJECT',
        name: 'PatientConnectionEdge',
        fields: [
          { name: 'mode', type: { kind: 'SCALAR', name: 'String', ofType: null } },
          { name: 'score', type: { kind: 'SCALAR', name: 'Float', ofType: null } },
          { name: 'resource', type: { kind: 'OBJECT', name: 'Patient', ofType: null } },
        ],
      },
      none: null,
    });
    expect(Object.keys(data!)).toEqual(['Patient', '__schema', 't', 'none']);
  });

  test('keeps its nulls in dialect hl7', async () => {
    const query = '{ __type(name: "Patient") { name specifiedByURL } }';
    expect(await clinic.data(query, {}, { dialect: 'hl7' })).toEqual({
      __type: { name: 'Patient', specifiedByURL: null },
    });
  });

  test('can be disabled, by operation and not by text', async () => {
    const off = { introspection: false };
    const query = 'query Data { Patient(id: "1") { id } } query Schema { __schema { types { name } } }';
    expect(failures(await clinic.ask(query, {}, { ...off, operationName: 'Schema' }))).toEqual(['forbidden']);
    expect(await clinic.data(query, {}, { ...off, operationName: 'Data' })).toEqual({ Patient: { id: '1' } });
    expect(await clinic.data('{ PatientList(_filter: "family eq __schema") { __typename } }', {}, off)).toEqual({
      PatientList: [],
    });
    expect(failures(await clinic.ask('{ ... { a: __type(name: "x") { name } } }', {}, off))).toEqual(['forbidden']);
  });

  test.each([...(IS_WHOLE ? [[20, 1_000_000] as const] : []), [21, 20] as const])(
    'is bounded: %i schemas under aliases are refused by %i',
    async (length, max) => {
      const bomb = `{ ${Array.from({ length }, (_, index) => `a${index}: __schema { types { fields { args { type { name } } type { fields { name } } } } }`).join(' ')} }`;
      const { data, errors } = await clinic.ask(bomb);
      expect([data, errors?.map(({ extensions }) => [extensions.code, extensions['details']])]).toEqual([
        undefined,
        [['too-costly', { limit: 'introspection', max }]],
      ]);
    },
  );

  test('gives each list of the schema once in each position', async () => {
    const { errors } = await clinic.ask('{ __schema { types { name a: fields { name } b: fields { name } } } }');
    expect(errors?.map(({ message }) => message)).toEqual(['Introspection gives "fields" once in each place']);
    const twice =
      '{ __type(name: "Period") { fields { name } ...f } } fragment f on __Type { fields { name type { name } } }';
    expect(await clinic.ask(twice)).not.toHaveProperty('errors');
  });

  test('nests at most three levels of fields, and is only at the root of the service', async () => {
    const deep =
      '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }';
    expect(messages(await clinic.ask(deep)).join()).toContain('Maximum introspection depth');
    expect(failures(await clinic.ask('{ id __schema { queryType { name } } }', {}, { focus: 'Patient/1' }))).toEqual([
      'unsupported',
    ]);
  });
});
