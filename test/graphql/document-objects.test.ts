import fc from 'fast-check';
import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createAllowList, executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { cases, SEED } from '../support/chance.js';

const context = { store: new MemoryStore(), caller: systemCaller('p') };

/** A document as a client could send it in place of a text: plain JSON. */
function json(text: string): Json {
  return JSON.parse(JSON.stringify(parse(text, { noLocation: true }))) as Json;
}

type Json = { [name: string]: never } & { definitions: never[] };

async function codes(document: object, more: object = {}): Promise<readonly string[]> {
  const { errors = [] } = await executeFhirGraphql(document as never, { ...context, ...more });
  return errors.map(({ extensions }) => extensions.code);
}

/** A document with one of its nodes replaced. */
function withValue(
  path: readonly (string | number)[],
  value: unknown,
  text = '{ PatientList(name: "x") { id } }',
): object {
  const document = json(text);
  let target = document as { [name: string]: never };
  for (const step of path.slice(0, -1)) target = target[step]!;
  target[path.at(-1)!] = value as never;
  return document;
}

const ROOT = ['definitions', 0, 'selectionSet', 'selections', 0] as const;
const ARGUMENT = [...ROOT, 'arguments', 0, 'value'] as const;

describe('a document object', () => {
  test('of plain JSON is executed', async () => {
    const { data, errors } = await executeFhirGraphql(json('{ PatientList(name: "x") { id } }') as never, context);
    expect({ data, errors }).toEqual({ data: { PatientList: [] }, errors: undefined });
  });

  test('has the same limits as a text', async () => {
    expect(await codes(withValue([...ARGUMENT, 'value'], 'y'.repeat(200_001)))).toEqual(['too-costly']);
    expect(await codes(withValue([...ROOT, 'alias'], { kind: 'Name', value: 'y'.repeat(200_001) }))).toEqual([
      'too-costly',
    ]);
    const many = `{ ${Array.from({ length: 40 }, (_, index) => `a${index}: PatientList { id }`).join(' ')} }`;
    const limits = { tokens: 30 };
    for (const tokenCount of ['x', { valueOf: 1 }, Number.NaN, -1, undefined]) {
      expect(await codes({ ...json(many), tokenCount }, { limits })).toEqual(['too-costly']);
    }
    // A document that was checked for one caller is checked against the limits of another.
    const document = withValue([...ARGUMENT, 'value'], 'y'.repeat(300));
    expect(await codes(document)).toEqual([]);
    expect(await codes(document, { limits: { queryLength: 200 } })).toEqual(['too-costly']);
  });

  test('nests at most as deeply as a text, in any node', async () => {
    const nested = (make: (inner: object) => object, innermost: object): object => {
      let node = innermost;
      for (let depth = 0; depth < 50_000; depth += 1) node = make(node);
      return node;
    };
    const named = { kind: 'NamedType', name: { kind: 'Name', value: 'String' } };
    const field = { kind: 'Field', name: { kind: 'Name', value: 'id' } };
    const query = 'query ($a: String) { PatientList(name: $a) { id } }';
    const type = ['definitions', 0, 'variableDefinitions', 0, 'type'];
    const hostile = [
      withValue(
        type,
        nested((inner) => ({ kind: 'NonNullType', type: inner }), named),
        query,
      ),
      withValue(
        type,
        nested((inner) => ({ kind: 'ListType', type: inner }), named),
        query,
      ),
      withValue(
        ARGUMENT,
        nested((inner) => ({ kind: 'ListValue', values: [inner] }), { kind: 'NullValue' }),
      ),
      withValue([...ROOT, 'selectionSet'], nested((inner) => ({ kind: 'SelectionSet', selections: [{ ...field, selectionSet: inner }] }), { kind: 'SelectionSet', selections: [field] })), // prettier-ignore
      withValue(
        [...ROOT, 'selectionSet'],
        nested((inner) => ({ kind: 'Field', selections: [inner] }), field),
      ),
    ];
    for (const document of hostile) {
      for (const documents of [undefined, createAllowList({ a: '{ PatientList { id } }' })]) {
        expect(['invalid', 'too-costly']).toContain((await codes(document, { documents }))[0]);
      }
    }
  });

  test('is refused if nodes lead back to themselves', async () => {
    const circle: { [name: string]: unknown } = { kind: 'Name', value: 'x' };
    circle['name'] = circle;
    expect(await codes(withValue([...ROOT, 'alias'], circle))).toEqual(['too-costly']);
  });

  test.each<[string, object]>([
    ['a value of a string that is a list', withValue([...ARGUMENT, 'value'], ['x', 'y'])],
    ['an invalid Int value', withValue(ARGUMENT, { kind: 'IntValue', value: '1e999' })],
    ['a value of an Int that is an object', withValue(ARGUMENT, { kind: 'IntValue', value: { a: 1 } })],
    ['a Boolean in words', withValue(ARGUMENT, { kind: 'BooleanValue', value: 'yes' })],
    ['a list without items', withValue(ARGUMENT, { kind: 'ListValue', values: 5 })],
    ['a name with a blank', withValue([...ROOT, 'alias'], { kind: 'Name', value: 'a b' })],
    ['an argument whose value is a name', withValue(ARGUMENT, { kind: 'Name', value: 'x' })],
    ['an unknown kind of definition', withValue(['definitions', 0, 'kind'], 'Weird')],
    [
      'an unknown kind of a named definition',
      withValue(['definitions', 1], { kind: '', name: { kind: 'Name', value: 'x' } }),
    ],
    ['a field as a definition', withValue(['definitions', 1], { kind: 'Field', name: { kind: 'Name', value: 'x' } })],
    ['definitions that are not list', withValue(['definitions'], { length: 1e9 })],
    ['a location that leads nowhere', withValue([...ROOT, 'name'], { kind: 'Name', value: 'nme', loc: { source: 5 } })],
  ])('with %s is invalid', async (_, document) => {
    expect(await codes(document)).toEqual(['invalid']);
  });

  test('is never an internal error, with any damage', async () => {
    const text = `query Q($a: String = "x", $b: [Int!]) { PatientList(name: $a, _count: 2) { id ...F @include(if: true)
      name(use: official) { given } ... on Patient { gender } } } fragment F on Patient { birthDate }`;
    const places: (readonly (string | number)[])[] = [];
    const collect = (value: unknown, path: readonly (string | number)[]): void => {
      if (path.length > 0) places.push(path);
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inner] of Object.entries(value))
        collect(inner, [...path, Array.isArray(value) ? Number(key) : key]);
    };
    collect(json(text), []);
    const rubbish = fc.oneof(
      fc.constantFrom(
        undefined,
        null,
        0,
        1.5,
        true,
        '',
        'x',
        '__proto__',
        [],
        [null],
        {},
        { kind: 'Name', value: 'x' },
      ),
      fc.constantFrom('Field', 'Variable', 'ListValue', 'NonNullType', 'SelectionSet').map((kind) => ({ kind })),
      fc.constantFrom(...places).map((path) => path.reduce<never>((value, step) => value[step], json(text) as never)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), rubbish, async (path, value) => {
        expect(await codes(withValue(path, value, text))).not.toContain('internal');
      }),
      { numRuns: cases(2_000, 250), seed: SEED },
    );
  });
});
