import assert from 'node:assert/strict';
import type { AnyResource } from '../../fhir/resource.js';
import { ALL, type Criteria, NONE, type Prefix, type ValueTest } from '../../search/criteria.js';
import {
  type ConformanceCase,
  type ConformanceSuite,
  idsOf,
  PROJECT,
  putAll,
  queryOf,
  resourceOf,
} from '../conformance-case.js';

/** Criteria of each kind, with the answers spelt out. */
export const searchSuite: ConformanceSuite = {
  name: 'searching',
  cases: [
    tests('string', 'Patient', 'family', families('Müller', 'Mull', "O'Hara", 'Smith-Jones', '%_', 'Mullan'), [
      [{ kind: 'string', comparator: 'starts-with', text: 'mull' }, [0, 1, 5]],
      [{ kind: 'string', comparator: 'starts-with', text: 'muller' }, [0]],
      [{ kind: 'string', comparator: 'ends-with', text: 'jones' }, [3]],
      [{ kind: 'string', comparator: 'contains', text: 'ul' }, [0, 1, 5]],
      [{ kind: 'string', comparator: 'equals', text: 'ohara' }, [2]],
      [{ kind: 'string', comparator: 'not-equals', text: 'mull' }, [0, 2, 3, 4, 5]],
      [{ kind: 'string', comparator: 'exact', text: 'Mull' }, [1]],
      [{ kind: 'string', comparator: 'exact', text: 'mull' }, []],
      [{ kind: 'string', comparator: 'exact', text: '%_' }, [4]],
      [{ kind: 'string', comparator: 'contains', text: '%' }, []],
      [{ kind: 'string', comparator: 'starts-with', text: "x' OR '1'='1" }, []],
    ]),
    tests(
      'token',
      'Patient',
      'identifier',
      [
        { identifier: [{ system: 'urn:a', value: '1' }] },
        { identifier: [{ value: '1' }] },
        {
          identifier: [
            { system: 'urn:b', value: '1' },
            { system: 'urn:a', value: '2' },
          ],
        },
        {},
      ],
      [
        [{ kind: 'token', code: '1' }, [0, 1, 2]],
        [{ kind: 'token', system: 'urn:a', code: '1' }, [0]],
        [{ kind: 'token', noSystem: true, code: '1' }, [1]],
        [{ kind: 'token', system: 'urn:a' }, [0, 2]],
        [{ kind: 'token', noSystem: true }, [1]],
        [{ kind: 'token', system: 'urn:never', code: '1' }, []],
        [{ kind: 'token', code: 'A' }, []],
        [{ kind: 'token', code: '1', negated: true }, [2]],
        [{ kind: 'token', system: 'urn:a', code: '1', negated: true }, [1, 2]],
        [{ kind: 'token', system: 'urn:never', code: '1', negated: true }, [0, 1, 2]],
      ],
    ),
    tests(
      'text of tokens',
      'Observation',
      'code',
      [
        { code: { text: 'Body Height' } },
        { code: { coding: [{ code: 'x', display: 'Höhe, body' }] } },
        { code: { coding: [{ code: 'body' }] } },
      ],
      [
        [{ kind: 'text', text: 'body' }, [0, 1]],
        [{ kind: 'text', text: 'hohe' }, [1]],
        [{ kind: 'text', text: 'x' }, []],
      ],
    ),
    prefixes('dates', 'Encounter', 'date', dated(), 'date', {
      // The searched span is 2020-03; the stored ones are listed with dated().
      eq: [1, 2],
      ne: [0, 3, 4, 5, 6, 7],
      gt: [3, 4, 6, 7],
      lt: [0, 3, 5, 7],
      ge: [1, 2, 3, 4, 6, 7],
      le: [0, 1, 2, 3, 5, 7],
      sa: [4],
      eb: [0],
      ap: [1, 2, 3, 5, 6, 7],
      po: [1, 2, 3, 5, 6, 7],
    }),
    prefixes('numbers', 'RiskAssessment', 'probability', probabilities(), 'number', {
      // 0.5 as written is 0.45 up to 0.55; the exact number counts for all prefixes but eq and ne.
      eq: [1, 2],
      ne: [0, 3, 4, 5],
      gt: [2, 3, 4],
      lt: [0, 4, 5],
      ge: [1, 2, 3, 4],
      le: [0, 1, 4, 5],
      sa: [2, 3],
      eb: [0, 5],
      ap: [1, 4],
      po: [1, 4],
    }),
    tests(
      'quantity',
      'Observation',
      'value-quantity',
      [
        { valueQuantity: { value: 5, unit: 'mg', system: 'urn:u', code: 'mg' } },
        { valueQuantity: { value: 5, unit: 'milligram', system: 'urn:u', code: 'mg' } },
        { valueQuantity: { value: 5, unit: 'mg' } },
        { valueQuantity: { value: 5.4 } },
        { valueQuantity: { value: 7, comparator: '<', system: 'urn:u', code: 'mg' } },
      ],
      [
        [{ kind: 'quantity', prefix: 'eq', low: 4.5, high: 5.5 }, [0, 1, 2, 3]],
        [{ kind: 'quantity', prefix: 'eq', low: 4.95, high: 5.05, code: 'mg' }, [0, 1, 2]],
        [{ kind: 'quantity', prefix: 'eq', low: 4.5, high: 5.5, code: 'milligram' }, [1]],
        [{ kind: 'quantity', prefix: 'eq', low: 4.5, high: 5.5, system: 'urn:u', code: 'mg' }, [0, 1]],
        [{ kind: 'quantity', prefix: 'eq', low: 4.5, high: 5.5, system: 'urn:never', code: 'mg' }, []],
        [{ kind: 'quantity', prefix: 'gt', low: 5, high: 5 }, [3, 4]],
        [{ kind: 'quantity', prefix: 'lt', low: 5, high: 5 }, [4]],
        [{ kind: 'quantity', prefix: 'sa', low: 5, high: 5 }, [3]],
        [{ kind: 'quantity', prefix: 'ne', low: 4.95, high: 5.05, code: 'mg' }, [4]],
      ],
    ),
    tests(
      'reference',
      'Observation',
      'subject',
      [
        { subject: { reference: 'Patient/1' } },
        { subject: { reference: 'Group/1' } },
        { subject: { reference: 'Patient/1/_history/3' } },
        { subject: { reference: 'http://elsewhere/Patient/1' } },
        { subject: { reference: 'Patient/2' } },
        { subject: { reference: '#c' } },
        {},
      ],
      [
        [{ kind: 'reference', types: ['Patient'], id: '1' }, [0, 2]],
        [{ kind: 'reference', types: ['Patient', 'Group', 'Device'], id: '1' }, [0, 1, 2]],
        [{ kind: 'reference', id: '1' }, [0, 1, 2]],
        [{ kind: 'reference', types: ['Group'] }, [1]],
        [{ kind: 'reference' }, [0, 1, 2, 4]],
        [{ kind: 'reference', url: 'http://elsewhere/Patient/1' }, [3]],
        [{ kind: 'reference', types: ['Device'], id: '1' }, []],
        [{ kind: 'reference', types: ['Patient'], id: '1', negated: true }, [1, 3, 4]],
        [{ kind: 'reference', url: 'http://elsewhere/Patient/1', negated: true }, [0, 1, 2, 4]],
      ],
    ),
    tests(
      'canonical',
      'PlanDefinition',
      'definition',
      [
        { action: [{ definitionCanonical: 'http://a/x|1' }] },
        { action: [{ definitionCanonical: 'http://a/x' }] },
        { action: [{ definitionCanonical: 'http://a/xy' }] },
      ],
      [
        [{ kind: 'reference', url: 'http://a/x' }, [0, 1]],
        [{ kind: 'reference', url: 'http://a/x|1' }, [0]],
        [{ kind: 'reference', url: 'http://a/x|2' }, []],
      ],
    ),
    tests(
      'uri',
      'ValueSet',
      'url',
      [
        { url: 'http://a/b' },
        { url: 'http://a/b/c' },
        { url: 'http://a/bc' },
        { url: 'http://A/b' },
        { url: 'http://a' },
      ],
      [
        [{ kind: 'uri', comparator: 'equals', value: 'http://a/b' }, [0]],
        [{ kind: 'uri', comparator: 'not-equals', value: 'http://a/b' }, [1, 2, 3, 4]],
        [{ kind: 'uri', comparator: 'below', value: 'http://a/b' }, [0, 1]],
        [{ kind: 'uri', comparator: 'above', value: 'http://a/b/c' }, [0, 1, 4]],
        [{ kind: 'uri', comparator: 'starts-with', value: 'http://a/b' }, [0, 1, 2]],
        [{ kind: 'uri', comparator: 'ends-with', value: '/b' }, [0, 3]],
        [{ kind: 'uri', comparator: 'contains', value: 'a/b' }, [0, 1, 2]],
      ],
    ),
    {
      name: 'composite: one and the same group passes all tests',
      async run(store) {
        const code = (value: string): object => ({
          coding: [{ system: 'urn:c', code: value }, { code: `${value}-too` }],
        });
        const component = (name: string, value: number): object => ({ code: code(name), valueQuantity: { value } });
        await putAll(
          store,
          resourceOf('Observation', 'a', {
            code: code('bp'),
            component: [component('sys', 120), component('dia', 80)],
          }),
          resourceOf('Observation', 'b', {
            code: code('bp'),
            component: [component('sys', 80), component('dia', 120)],
          }),
          resourceOf('Observation', 'c', {
            code: code('bp'),
            component: [{ code: code('sys') }, { code: code('x'), valueQuantity: { value: 120 } }],
          }),
        );
        const find = (token: ValueTest, low: number): Promise<readonly unknown[]> =>
          idsOf(
            store,
            queryOf('Observation', {
              kind: 'composite',
              parameter: 'component-code-value-quantity',
              tests: [token, { kind: 'quantity', prefix: 'ge', low, high: low }],
            }),
          );
        assert.deepEqual(await find({ kind: 'token', code: 'sys' }, 100), ['a']);
        assert.deepEqual(await find({ kind: 'token', code: 'dia-too' }, 100), ['b']);
        assert.deepEqual(await find({ kind: 'token', system: 'urn:c', code: 'sys' }, 80), ['a', 'b']);
        assert.deepEqual(await find({ kind: 'token', system: 'urn:c', code: 'sys-too' }, 0), []);
        assert.deepEqual(await find({ kind: 'token', system: 'urn:c' }, 120), ['a', 'b', 'c']);
      },
    },
    {
      name: 'missing: by whether there is any value',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }), resourceOf('Patient', 'b'));
        const missing = (parameter: string, value: boolean): Promise<readonly unknown[]> =>
          idsOf(store, queryOf('Patient', { kind: 'missing', parameter, missing: value }));
        assert.deepEqual(await missing('gender', false), ['a']);
        assert.deepEqual(await missing('gender', true), ['b']);
        assert.deepEqual(await missing('birthdate', true), ['a', 'b']);
        assert.deepEqual(await missing('birthdate', false), []);
      },
    },
    {
      name: 'id, last-updated, all and none',
      async run(store) {
        const results = await putAll(store, ...['a', 'b', 'c'].map((id) => resourceOf('Patient', id)));
        const find = (criteria: Criteria): Promise<readonly unknown[]> => idsOf(store, queryOf('Patient', criteria));
        assert.deepEqual(await find({ kind: 'id', ids: ['c', 'x', 'a', 'c'] }), ['a', 'c']);
        assert.deepEqual(await find({ kind: 'id', ids: [] }), []);
        assert.deepEqual(await find(ALL), ['a', 'b', 'c']);
        assert.deepEqual(await find(NONE), []);
        const instants = results.map((one) => (one.kind === 'put' ? Date.parse(one.lastUpdated) : Number.NaN));
        const last = Math.max(...instants);
        for (const [prefix, low, high] of [
          ['ge', last, last + 1],
          ['le', last, last + 1],
          ['gt', last, last + 1],
          ['lt', last, last + 1],
          ['eq', last, last + 1],
          ['ne', last, last + 1],
          ['sa', last - 1, last],
          ['eb', last + 1, last + 2],
          ['ap', last - 5, last + 1],
          ['po', last + 1, last + 9],
        ] as const) {
          const passes = (at: number): boolean =>
            ({
              ge: at >= low,
              le: at < high,
              gt: at >= high,
              lt: at < low,
              eq: at >= low && at < high,
              ne: at < low || at >= high,
              sa: at >= high,
              eb: at < low,
              ap: at >= low && at < high,
              po: at >= low && at < high,
            })[prefix];
          const expected = ['a', 'b', 'c'].filter((_, index) => passes(instants[index]!));
          assert.deepEqual(
            await find({ kind: 'last-updated', test: { kind: 'date', prefix, low, high } }),
            expected,
            prefix,
          );
        }
      },
    },
    {
      name: 'and, or and not, nested, resources without values included',
      async run(store) {
        await putAll(
          store,
          resourceOf('Patient', 'a', { gender: 'male', active: true }),
          resourceOf('Patient', 'b', { gender: 'female', active: true }),
          resourceOf('Patient', 'c', { gender: 'male' }),
          resourceOf('Patient', 'd'),
        );
        const token = (parameter: string, code: string): Criteria => ({
          kind: 'match',
          parameter,
          test: { kind: 'token', code },
        });
        const male = token('gender', 'male');
        const active = token('active', 'true');
        const find = (criteria: Criteria): Promise<readonly unknown[]> => idsOf(store, queryOf('Patient', criteria));
        assert.deepEqual(await find({ kind: 'and', of: [male, active] }), ['a']);
        assert.deepEqual(await find({ kind: 'or', of: [male, active] }), ['a', 'b', 'c']);
        assert.deepEqual(await find({ kind: 'not', of: male }), ['b', 'd']);
        assert.deepEqual(await find({ kind: 'and', of: [male, { kind: 'not', of: active }] }), ['c']);
        assert.deepEqual(await find({ kind: 'not', of: { kind: 'or', of: [male, active] } }), ['d']);
        assert.deepEqual(
          await find({
            kind: 'or',
            of: [
              { kind: 'not', of: active },
              { kind: 'and', of: [male, active] },
            ],
          }),
          ['a', 'c', 'd'],
        );
        assert.deepEqual(await find({ kind: 'and', of: [] }), ['a', 'b', 'c', 'd']);
        assert.deepEqual(await find({ kind: 'or', of: [] }), []);
        assert.deepEqual(await find({ kind: 'not', of: token('birthdate', 'x') }), ['a', 'b', 'c', 'd']);
      },
    },
    {
      name: 'takes a thousand alternatives',
      async run(store) {
        await putAll(
          store,
          ...Array.from({ length: 20 }, (_, n) =>
            resourceOf('Patient', `p${n}`, {
              identifier: [{ system: `s${n % 2}`, value: `${n}` }],
              name: [{ family: `f${n}x` }],
            }),
          ),
        );
        const numbers = Array.from({ length: 1_000 }, (_, n) => n + 10);
        const expected = Array.from({ length: 10 }, (_, n) => `p${n + 10}`);
        const alternatives: readonly ((n: number) => Criteria)[] = [
          (n) => ({ kind: 'match', parameter: 'identifier', test: { kind: 'token', code: `${n}` } }),
          (n) => ({
            kind: 'match',
            parameter: 'identifier',
            test: { kind: 'token', code: `${n}`, system: `s${n % 2}` },
          }),
          (n) => ({
            kind: 'match',
            parameter: 'family',
            test: { kind: 'string', comparator: 'starts-with', text: `f${n}x` },
          }),
          (n) => ({
            kind: 'match',
            parameter: 'family',
            test: { kind: 'string', comparator: 'contains', text: `f${n}x` },
          }),
          (n) => ({ kind: 'id', ids: [`p${n}`] }),
        ];
        for (const make of alternatives) {
          assert.deepEqual(await idsOf(store, queryOf('Patient', { kind: 'or', of: numbers.map(make) })), expected);
          const nested: Criteria = {
            kind: 'and',
            of: [ALL, { kind: 'not', of: { kind: 'or', of: numbers.map(make) } }],
          };
          assert.equal((await idsOf(store, queryOf('Patient', nested))).length, 10);
        }
      },
    },
    {
      name: 'finds nothing in a project or type without resources',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
        const criteria: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
        for (const query of [queryOf('Person', criteria), { ...queryOf('Patient', criteria), project: 'other' }]) {
          assert.deepEqual(await store.search({ ...query, total: true }), { matches: [], total: 0 });
        }
      },
    },
  ],
};

/** One resource per row of elements; each test must find exactly those at the positions given. */
function tests(
  name: string,
  type: string,
  parameter: string,
  rows: readonly object[],
  table: readonly (readonly [ValueTest, readonly number[]])[],
): ConformanceCase {
  return {
    name,
    async run(store) {
      await putAll(
        store,
        ...rows.map((elements, index): AnyResource => resourceOf(type, `r${index}`, { ...elements })),
      );
      for (const [test, positions] of table) {
        const criteria: Criteria = { kind: 'match', parameter, test };
        const expected = positions.map((position) => `r${position}`);
        const message = `${PROJECT}: ${type}?${parameter} ${JSON.stringify(test)}`;
        assert.deepEqual(await idsOf(store, queryOf(type, criteria)), expected, message);
        // Beside another condition a store may take another way.
        const both: Criteria = {
          kind: 'and',
          of: [{ kind: 'id', ids: rows.map((_, index) => `r${index}`) }, criteria],
        };
        assert.deepEqual(await idsOf(store, queryOf(type, both)), expected, message);
      }
    },
  };
}

function prefixes(
  name: string,
  type: string,
  parameter: string,
  rows: readonly object[],
  kind: 'date' | 'number',
  expected: { readonly [P in Prefix]: readonly number[] },
): ConformanceCase {
  const table = (Object.keys(expected) as Prefix[]).map((prefix): readonly [ValueTest, readonly number[]] => [
    kind === 'date' ? dateTest(prefix) : numberTest(prefix),
    expected[prefix],
  ]);
  return tests(`prefixes of ${name}`, type, parameter, rows, table);
}

function families(...names: readonly string[]): readonly object[] {
  return names.map((family) => ({ name: [{ family }] }));
}

/** Before, the whole month, inside, around, after, into it from before, out of it, and all of time from before. */
function dated(): readonly object[] {
  return [
    { period: { start: '2020-01-01', end: '2020-02-29' } },
    { period: { start: '2020-03', end: '2020-03' } },
    { period: { start: '2020-03-10T08:00:00Z', end: '2020-03-10T09:00:00Z' } },
    { period: { start: '2019', end: '2021' } },
    { period: { start: '2020-04-01' } },
    { period: { start: '2020-02-28', end: '2020-03-02' } },
    { period: { start: '2020-03-31', end: '2020-04-01' } },
    { period: { start: '1999-12-31' } },
  ];
}

function dateTest(prefix: Prefix): ValueTest {
  return { kind: 'date', prefix, low: Date.UTC(2020, 2, 1), high: Date.UTC(2020, 3, 1) };
}

function probabilities(): readonly object[] {
  const decimal = (value: number): object => ({ prediction: [{ probabilityDecimal: value }] });
  const range = { prediction: [{ probabilityRange: { low: { value: 0.4 }, high: { value: 0.6 } } }] };
  return [decimal(0.1), decimal(0.5), decimal(0.52), decimal(0.9), range, decimal(0.44)];
}

function numberTest(prefix: Prefix): ValueTest {
  if (prefix === 'eq' || prefix === 'ne') return { kind: 'number', prefix, low: 0.45, high: 0.55 };
  return { kind: 'number', prefix, low: 0.5, high: 0.5 };
}
