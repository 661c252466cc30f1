import { GraphQLSchema, graphql, parse, validate, validateSchema } from 'graphql/index.js';
import type { GraphQLEnumType, GraphQLInputObjectType, GraphQLObjectType } from 'graphql/index.js';
import { describe, expect, test } from 'vitest';
import { enumOf } from '../../src/graphql/schema/enums.js';
import { createFhirGraphql, validateFhirGraphql } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { codeNames, codeOf } from '../../src/graphql/schema/code-names.js';
import { completeSchema } from '../../src/graphql/schema/complete-schema.js';
import { cases, IS_WHOLE, SEED } from '../support/chance.js';
import { caller, messages, openClinic, PROJECT } from './harness.js';

const clinic = await openClinic([
  {
    resourceType: 'Observation',
    id: 'o',
    status: 'entered-in-error',
    valueQuantity: { value: 5, comparator: '<=' },
    contained: [{ resourceType: 'Encounter', id: 'e', status: 'in-progress' }],
  },
  { resourceType: 'Observation', id: 'other', status: 'as the lab says' },
  {
    resourceType: 'Questionnaire',
    id: 'q',
    status: 'active',
    item: [
      { linkId: 'a', type: 'open-choice', enableWhen: [{ question: 'b', operator: '>=' }, { question: 'c', operator: 'exists' }] }, // prettier-ignore
      { linkId: 'b', type: 'text' },
      { linkId: 'c' },
    ],
  },
]);
const service = createFhirGraphql({ store: clinic.store, enums: true });
const ask = (query: string, variables?: { [name: string]: unknown }) => service.execute(query, { caller, variables });

async function data(query: string, variables?: { [name: string]: unknown }): Promise<unknown> {
  const result = await ask(query, variables);
  expect(result.errors).toBeUndefined();
  return result.data;
}

async function stored(id: string): Promise<unknown> {
  const [found] = await clinic.store.read([{ project: PROJECT, type: 'Observation', id }]);
  return (found as { resource?: unknown }).resource;
}

describe('names of codes', () => {
  const namesOf = (...codes: string[]): string[] => Object.values(codeNames(codes).names);

  test('codes that are names are unchanged; all others follow one rule', () => {
    expect(namesOf('final', 'entered-in-error', '4.0.1', 'CC0-1.0', 'MORN.early', 'true', 'a b')).toEqual(
      ['final', 'entered_in_error', '_4_0_1', 'CC0_1_0', 'MORN_early', 'true_', 'a_b'], // prettier-ignore
    );
    expect(namesOf('=', '!=', '<', '<=', '>', '>=', 'exists')).toEqual(['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'exists']);
    expect(namesOf('__type', '-', '+', '')).toEqual(['_type', '_', '_2', '_3']);
  });

  test('a name that another code has gets a number, in any order', () => {
    expect(namesOf('a-b', 'a.b', 'a_b', 'a_b_2')).toEqual(['a_b_3', 'a_b_4', 'a_b', 'a_b_2']);
    expect(namesOf('lt', '<')).toEqual(['lt', 'lt_2']);
  });

  const assertOneToOne = (codes: readonly string[]): void => {
    const values = codeNames(codes);
    expect(new Set(Object.values(values.names)).size).toBe(codes.length);
    for (const code of codes) {
      const name = values.names[code]!;
      expect(name).toMatch(/^(?!__)[_A-Za-z]\w*$/);
      expect(['true', 'false', 'null']).not.toContain(name);
      expect(codeOf(values, name)).toBe(code);
      expect(codeOf(values, code)).toBe(code);
    }
  };

  test('every code of every binding has a name of its own', () => {
    for (const type of R4.typeNames) {
      for (const { codes } of R4.typeDefinition(type)?.elements.values() ?? []) if (codes) assertOneToOne(codes);
    }
  });

  test(`random codes have names of their own (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    const parts = ['a', 'b', '_', '-', '.', '1', '2', '<', '=', '!', ' ', 'é', '💧', 'true', 'null', 'lt', '__proto__'];
    for (let run = 0; run < cases(2000, 100); run += 1) {
      const codes = Array.from({ length: 1 + below(8, random) }, () =>
        Array.from({ length: 1 + below(3, random) }, () => oneOf(parts, random)).join(''),
      );
      assertOneToOne([...new Set(codes)]);
    }
  });
});

describe('the schema', () => {
  const typeOf = (schema: GraphQLSchema, type: string, field: string): string =>
    String((schema.getType(type) as GraphQLObjectType | GraphQLInputObjectType).getFields()[field]?.type);

  test('each required binding of a code is an enum', () => {
    const schema = completeSchema(R4, ['Observation', 'Questionnaire'], 'whole', { enums: true });
    const { assumeValid: _, ...config } = schema.toConfig();
    expect(validateSchema(new GraphQLSchema(config))).toEqual([]);
    expect(typeOf(schema, 'Observation', 'status')).toBe('ObservationStatus');
    expect(typeOf(schema, 'ObservationInput', 'status')).toBe('ObservationStatus');
    expect(typeOf(schema, 'Quantity', 'comparator')).toBe('QuantityComparator');
    const status = schema.getType('ObservationStatus') as GraphQLEnumType;
    expect(status.getValue('final')?.description ?? null).toBeNull();
    expect(status.getValue('entered_in_error')?.description).toBe('The code entered-in-error');
  });

  test('each binding has its own enum, with a name that no type has', () => {
    const bindings = new Map<string, readonly string[]>();
    for (const type of R4.typeNames) {
      for (const element of R4.typeDefinition(type)?.elements.values() ?? []) {
        if (element.type !== 'code' || element.codes === undefined) continue;
        const { name } = enumOf(R4, element)!;
        expect(bindings.get(name) ?? element.codes).toBe(element.codes);
        expect(R4.typeDefinition(name)).toBeUndefined();
        bindings.set(name, element.codes);
      }
    }
    expect(bindings.size).toBe(new Set(bindings.values()).size);
    expect(bindings.get('ItemType')).toContain('open-choice');
  });

  test('printSchema and introspection of the service include them', async () => {
    const sdl = service.printSchema({ types: ['Observation'] });
    expect(sdl).toMatch(/enum ObservationStatus \{[^}]*\n {2}entered_in_error\n/);
    expect(sdl).toContain('status: ObservationStatus');
    expect(sdl).not.toContain('@deprecated');
    expect(createFhirGraphql({ store: clinic.store, enums: true, federation: true }).printSchema({ federation: true, types: ['Observation'] })).toContain('status: ObservationStatus'); // prettier-ignore
    const names = '{ __type(name: "QuantityComparator") { kind enumValues { name description } } }';
    expect(await data(names)).toMatchObject({
      __type: { kind: 'ENUM', enumValues: [{ name: 'lt', description: 'The code <' }, { name: 'le' }, { name: 'ge' }, { name: 'gt' }] }, // prettier-ignore
    });
    expect(await clinic.data(names)).toEqual({ __type: null });
  });

  test('enums are an option of the service, never of introspection alone', () => {
    expect(() => createFhirGraphql({ store: clinic.store, introspection: { enums: true } as never })).toThrow('enums is an option of the service'); // prettier-ignore
    expect(() => createFhirGraphql({ store: clinic.store, enums: 'yes' as never })).toThrow('enums must be a boolean');
    expect(() => createFhirGraphql({ store: clinic.store, enums: true, types: 'enum ObservationStatus { a }' })).toThrow('an enum of FHIR has this name'); // prettier-ignore
  });
});

describe('answers', () => {
  test('codes are values of their enums, in elements, lists, choices and contained resources', async () => {
    const query = '{ Observation(id: "o") { status valueQuantity { comparator } contained { ... on Encounter { status } } } Questionnaire(id: "q") { item { type enableWhen { operator } } } }'; // prettier-ignore
    expect(await data(query)).toEqual({
      Observation: { status: 'entered_in_error', valueQuantity: { comparator: 'le' }, contained: [{ status: 'in_progress' }] }, // prettier-ignore
      Questionnaire: {
        item: [
          { type: 'open_choice', enableWhen: [{ operator: 'ge' }, { operator: 'exists' }] },
          { type: 'text', enableWhen: null },
          { type: null, enableWhen: null },
        ],
      },
    });
    expect(await clinic.data('{ Observation(id: "o") { status valueQuantity { comparator } } }')).toEqual({
      Observation: { status: 'entered-in-error', valueQuantity: { comparator: '<=' } },
    });
  });

  test('a stored code that the enum does not have is an error of its field, without the value', async () => {
    const { data: found, errors } = await ask('{ Observation(id: "other") { id status } }');
    expect(found).toEqual({ Observation: { id: 'other', status: null } });
    expect(errors).toMatchObject([{ path: ['Observation', 'status'], extensions: { code: 'unprocessable' } }]);
    expect(JSON.stringify(errors)).not.toContain('as the lab says');
  });

  test.runIf(IS_WHOLE)('a GraphQL server over the schema of the service gets the same answers', async () => {
    const source = 'query ($type: ItemType = open_choice) { Observation(id: "o") { status } Questionnaire(id: "q") { item(type: $type) { type linkId } } }'; // prettier-ignore
    const result = await graphql({ schema: service.schema, source, contextValue: { caller } });
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      data: { Observation: { status: 'entered_in_error' }, Questionnaire: { item: [{ type: 'open_choice', linkId: 'a' }] } }, // prettier-ignore
    });
  });
});

describe('inputs', () => {
  const ITEMS = (use: string): string => `{ Questionnaire(id: "q") { item(type: ${use}) { linkId } } }`;
  const found = { Questionnaire: { item: [{ linkId: 'a' }] } };

  test('filters on elements accept names and codes, as literals and variables', async () => {
    expect(await data(ITEMS('open_choice'))).toEqual(found);
    expect(await data(ITEMS('"open-choice"'))).toEqual(found);
    expect(await data(ITEMS('nothing_such'))).toEqual({ Questionnaire: { item: [] } });
    const typed = `query ($type: ItemType = text) ${ITEMS('$type')}`;
    expect(await data(typed, { type: 'open_choice' })).toEqual(found);
    expect(await data(typed, { type: 'open-choice' })).toEqual(found);
    expect(await data(typed)).toEqual({ Questionnaire: { item: [{ linkId: 'b' }] } });
    expect(await data(`query ($type: String) ${ITEMS('$type')}`, { type: 'open_choice' })).toEqual(found);
    const { errors } = await ask(typed, { type: 'nothing-such' });
    expect(errors).toMatchObject([{ message: expect.stringContaining('$type') as string }]);
    expect(JSON.stringify(errors)).not.toContain('nothing-such');
  });

  test('writes store codes, from literals, objects in variables and defaults', async () => {
    const create = (res: string, variables = ''): string => `mutation ${variables} { ObservationCreate(res: ${res}) { id status } }`; // prettier-ignore
    const ids: string[] = [];
    const write = async (query: string, variables?: { [name: string]: unknown }): Promise<unknown> => {
      const { ObservationCreate: made } = (await data(query, variables)) as { ObservationCreate: { id: string; status: string } }; // prettier-ignore
      ids.push(made.id);
      expect(made.status).toBe('entered_in_error');
      return stored(made.id);
    };
    const expected = { status: 'entered-in-error' };
    expect(await write(create('{ status: entered_in_error }'))).toMatchObject(expected);
    expect(await write(create('{ status: "entered-in-error" }'))).toMatchObject(expected);
    const whole = { status: 'entered_in_error', valueQuantity: { comparator: 'lt' } };
    expect(await write(create('$res', '($res: ObservationInput!)'), { res: whole })).toMatchObject({
      ...expected,
      valueQuantity: { comparator: '<' },
    });
    const byDefault = create('{ status: $s }', '($s: ObservationStatus! = entered_in_error)');
    expect(await write(byDefault)).toMatchObject(expected);
    const update = 'mutation ($id: ID!, $s: ObservationStatus) { ObservationUpdate(id: $id, res: { status: $s }) { status } }'; // prettier-ignore
    expect(await data(update, { id: ids[0], s: 'cancelled' })).toEqual({ ObservationUpdate: { status: 'cancelled' } });
    const refused = await ask(create('{ status: sideways }'));
    expect(messages(refused)).toEqual(['Argument "res" at "res.status": expected a value of its enum']);
  });

  test('search arguments, _filter and FHIRPath use the codes of FHIR; variables of an enum are accepted there too', async () => {
    const ids = (query: string, variables?: { [name: string]: unknown }): Promise<unknown> => data(query, variables);
    const only = { ObservationList: [{ id: 'o', status: 'entered_in_error' }] };
    const list = (args: string): string => `{ ObservationList(_id: "o", ${args}) { id status } }`;
    expect(await ids(list('status: "final,entered-in-error"'))).toEqual(only);
    expect(await ids(list('status: "entered_in_error"'))).toEqual({ ObservationList: [] });
    expect(await ids(list('_filter: "status eq entered-in-error"'))).toEqual(only);
    expect(await ids(list(`fhirpath: "status = 'entered-in-error'"`))).toEqual(only);
    expect(await ids(`query ($s: ObservationStatus) ${list('status: $s')}`, { s: 'entered_in_error' })).toEqual(only);
  });

  test('without the option, names are not codes', async () => {
    expect(await clinic.data(ITEMS('open_choice'))).toEqual({ Questionnaire: { item: [] } });
    expect(await clinic.data(ITEMS('"open-choice"'))).toEqual(found);
  });
});

test('documents of generated clients are valid against the schema, and validateFhirGraphql accepts them', async () => {
  const document = 'query ($type: ItemType = open_choice) { Questionnaire(id: "q") { item(type: $type) { type } } }';
  expect(validate(completeSchema(R4, ['Questionnaire'], 'whole', { enums: true }), parse(document))).toEqual([]);
  expect((await validateFhirGraphql(document, { enums: true })).errors).toEqual([]);
});
