import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { QUERIES } from '../../bench/queries.js';
import { R4 } from '../../src/store.js';
import { parse, Kind, type OperationDefinitionNode } from '../../src/graphql/graphql-js.js';
import { coerceVariables } from '../../src/graphql/graphql-js-validation.js';
import { NOT_PLAIN, plainTypeOf, plainValueOf } from '../../src/graphql/plain-variables.js';
import { fieldsOf, QUERY } from '../../src/graphql/schema/fields.js';
import { schemaFor } from '../../src/graphql/schema/schema.js';
import { checkByRules } from '../../src/graphql/check-by-rules.js';
import { isPlainDocument } from '../../src/graphql/validation/plain-document.js';
import { cases, SEED } from '../support/chance.js';

const isPlain = (query: string, root = QUERY): boolean => isPlainDocument(R4, parse(query), root);

describe('plain documents', () => {
  test.each([
    ['{ Patient(id: "1") { id name { family given } _birthDate { extension { url } } __typename } }', true],
    ['{ Patient(_id: example) { cache_key resourceType contact { name { text } } } }', true],
    [
      'query Q($i: ID!, $n: Int) { Patient(id: $i) { a: id ObservationList(_reference: subject, _count: $n) { id } } }',
      true,
    ],
    [
      '{ PatientList(name: ["a", b], active: true, _count: 10, _sort: "-birthdate") { name(use: official) { family } } }',
      true,
    ],
    ['{ PatientConnection(address_city: "x") { count edges { mode resource { id } } } }', true],
    ['{ Patient(id: "1") { ...f } } fragment f on Patient { id }', false],
    ['{ Patient(id: "1") { id @include(if: true) } }', false],
    ['{ Patient(id: "1") { id id } }', false],
    ['{ Patient(id: "1") { managingOrganization { resource { id } } } }', false],
    ['{ Patient(id: "1", _id: "1") { id } }', false],
    ['{ Patient(id: null) { id } }', false],
    ['{ Patient { id } }', false],
    ['{ Patient(id: "1") { name } }', false],
    ['{ Patient(id: "1") { id { value } } }', false],
    ['{ Patient(id: "1") { contained { id } } }', false],
    ['{ Patient(id: "1") { ObservationList(_count: 1) { id } } }', false],
    ['{ Patient(id: "1") { ObservationList(_reference: encounter) { id } } }', false],
    ['{ PatientList(_count: 4294967296) { id } }', false],
    ['{ PatientList(_count: "1") { id } }', false],
    ['{ PatientList(unknown: "1") { id } }', false],
    ['{ PatientList(name: [["a"]]) { id } }', false],
    ['{ ObservationList { value } }', false],
    ['query ($n: String) { PatientList(_count: $n) { id } }', false],
    ['query ($n: [Int]) { PatientList(_count: $n) { id } }', false],
    ['query ($a: ID!, $b: ID) { Patient(id: $a) { id } }', false],
    ['query ($a: ID!) { Patient(id: $b) { id } }', false],
    ['query ($a: ID = "1") { Patient(id: $a) { id } }', false],
    ['query ($__proto__: ID!) { Patient(id: $__proto__) { id } }', false],
    ['mutation { PatientDelete(id: "1") }', false],
    ['{ __schema { types { name } } }', false],
  ])('%s', (query, plain) => {
    expect(isPlain(query)).toBe(plain);
  });

  test('include the queries of the bench, except the fragment', () => {
    expect(QUERIES.filter(({ text }) => !isPlain(text)).map(({ name }) => name)).toEqual(['references']);
  });

  test('about an instance have the fields of its type at the root', () => {
    expect(isPlain('{ birthDate name { family } }', 'Patient')).toBe(true);
    expect(isPlain('{ Patient(id: "1") { id } }', 'Patient')).toBe(false);
  });

  test('are valid by the rules of GraphQL', async () => {
    let plain = 0;
    let total = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const document = parse(randomQuery(seed));
        total += 1;
        if (!isPlainDocument(R4, document, QUERY)) return;
        plain += 1;
        for (const dialect of ['standard', 'hl7'] as const) {
          expect(await checkByRules(R4, document, dialect, QUERY)).toBe(document);
        }
      }),
      { seed: SEED, numRuns: cases(4000, 500) },
    );
    expect(plain).toBeGreaterThan(3);
    expect(total - plain).toBeGreaterThan(20);
  });
});

describe('plain variables', () => {
  const types = ['String', 'ID', 'Int', 'Float', 'Boolean'].flatMap((name) => [
    name,
    `${name}!`,
    `[${name}]`,
    `[${name}!]!`,
  ]);
  const item = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, undefined, -0, 2147483648, -2147483648, {}),
  );

  test('have the value that graphql-js would give them', () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.oneof(item, fc.array(item, { maxLength: 3 })), (type, value) => {
        const operation = parse(`query ($v: ${type}) { a }`).definitions[0] as OperationDefinitionNode;
        expect(operation.kind).toBe(Kind.OPERATION_DEFINITION);
        const [definition] = operation.variableDefinitions!;
        const inputs = value === undefined ? {} : { v: value };
        const own = plainValueOf(plainTypeOf(definition!)!, 'v', inputs);
        if (own === NOT_PLAIN) return;
        plain += 1;
        const expected = coerceVariables(schemaFor(R4, 'standard', QUERY), [definition!], inputs);
        expect({ ...expected }).toEqual({ values: own === undefined ? {} : { v: own } });
      }),
      { seed: SEED, numRuns: cases(5000, 1000) },
    );
    expect(plain).toBeGreaterThan(10);
  });
});

/** A query over random fields, sometimes with a mistake. The same number gives the same query. */
function randomQuery(seed: number): string {
  let state = seed | 0;
  const next = (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
  const oneOf = <Value>(values: readonly Value[]): Value => values[next(values.length)]!;
  const variables = new Map<string, string>();
  const value = (types: readonly string[]): string => {
    const literal = oneOf(next(6) === 0 ? ['["a", c]', 'true', '1.5', 'null', '-7'] : ['"a"', 'b', '1']);
    if (next(3) > 0) return literal;
    const name = `v${variables.size}`;
    variables.set(name, next(8) === 0 ? oneOf(['Boolean', '[Int]', 'Unknown', 'Float!']) : oneOf(types));
    return `$${next(12) === 0 ? 'other' : name}`;
  };
  const argumentsOf = (name: string, parent: string): string => {
    const list = /^(.+)(List|Connection)$/.exec(name);
    if (parent === QUERY && list === null)
      return next(10) === 0 ? '' : `(${oneOf(['id', '_id'])}: ${value(['ID!', 'ID', 'String'])})`;
    const given: string[] = [];
    if (list !== null) {
      const codes = [...R4.searchParameters(list[1]!).keys()].map((code) => code.replaceAll('-', '_'));
      if (parent !== QUERY && next(5) > 0)
        given.push(`_reference: ${oneOf(['subject', 'patient', '"patient"', ...codes])}`);
      if (next(2) === 0) given.push(`_count: ${next(3) === 0 ? value(['Int', 'Int!']) : next(100)}`);
      if (next(3) === 0)
        given.push(`${oneOf([...codes, '_sort', '_filter', 'cursor', 'nothing'])}: ${value(['String', '[String!]'])}`);
    } else if (next(12) === 0) given.push(`${oneOf(['use', 'system', '_count', 'nothing'])}: ${value(['String'])}`);
    return given.length === 0 ? '' : `(${given.join(', ')})`;
  };
  const selection = (parent: string, depth: number): string => {
    const fields = [...fieldsOf(R4, parent)!.values()].filter(({ kind }) => kind !== 'choice' || next(10) === 0);
    const chosen = Array.from({ length: 1 + next(3) }, (_, index) => {
      const field = next(40) === 0 ? undefined : oneOf(fields);
      const name = field?.name ?? oneOf(['__typename', 'nothing', 'id']);
      const type = field === undefined ? undefined : typeInside(field);
      const inner = type !== undefined && depth > 0 && fieldsOf(R4, type) !== undefined && next(30) > 0;
      const alias = next(4) === 0 ? `a${next(3) === 0 ? 0 : index}: ` : '';
      return `${alias}${name}${argumentsOf(name, parent)}${inner ? ` ${selection(type, depth - 1)}` : ''}`;
    });
    return `{ ${chosen.join(' ')} }`;
  };
  const body = selection(QUERY, 3).replace(/ \{ (\w+)/, ' { $1');
  const declared = Array.from(variables, ([name, type]) => `$${name}: ${type}`);
  return `query ${declared.length === 0 ? '' : `(${declared.join(', ')})`} ${body}`;
}

/** The type of which a field selects; undefined for leaves. */
function typeInside(
  field: NonNullable<ReturnType<NonNullable<ReturnType<typeof fieldsOf>>['get']>>,
): string | undefined {
  switch (field.kind) {
    case 'element':
      return field.element.type;
    case 'sibling':
      return 'Element';
    case 'read':
    case 'list':
    case 'write':
      return field.type;
    case 'connection':
      return `${field.type}Connection`;
    case 'resolve':
      return 'Resource';
    default:
      return undefined;
  }
}
