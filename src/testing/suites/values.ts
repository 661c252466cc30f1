import assert from 'node:assert/strict';
import type { AnyResource } from '../../fhir/resource.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import type { Prefix, ValueTest } from '../../search/criteria/value-test.js';
import {
  type ConformanceCase,
  type ConformanceSuite,
  idsOf,
  PROJECT,
  putAll,
  queryOf,
  resourceOf,
} from '../conformance-case.js';

/** Value tests of each kind, with expected answers. */
export const valueSuite: ConformanceSuite = {
  name: 'values',
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
      'words of names',
      'Patient',
      'name:words',
      [
        { name: [{ family: 'Smith-Jones', given: ['Alice', 'Marie'] }] },
        { name: [{ family: 'Smith' }, { family: 'Jones', given: ['Alice'] }] },
        { name: [{ text: 'Ali Smithers' }] },
        {},
      ],
      [
        [{ kind: 'string', comparator: 'words-start-with', text: 'jones' }, [0, 1]],
        [{ kind: 'string', comparator: 'words-start-with', text: 'smith ali' }, [0, 2]],
        [{ kind: 'string', comparator: 'words-start-with', text: 'ali smith' }, [0, 2]],
        [{ kind: 'string', comparator: 'words-start-with', text: 'jones alice' }, [0, 1]],
        [{ kind: 'string', comparator: 'words-start-with', text: 'ones' }, []],
        [{ kind: 'string', comparator: 'words-equal', text: 'smith' }, [0, 1]],
        [{ kind: 'string', comparator: 'words-equal', text: 'smith ali' }, []],
        [{ kind: 'string', comparator: 'words-equal', text: 'alice jones smith' }, [0]],
      ],
    ),
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
      // The searched interval is 2020-03; the stored ones are listed with dated().
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
        { action: [{ definitionCanonical: 'http://a/x|1.2' }] },
        { action: [{ definitionCanonical: 'http://a/x|12' }] },
      ],
      [
        [{ kind: 'reference', url: 'http://a/x' }, [0, 1, 3, 4]],
        [{ kind: 'reference', url: 'http://a/x|1' }, [0]],
        [{ kind: 'reference', url: 'http://a/x|2' }, []],
        [{ kind: 'reference', url: 'http://a/x', version: 'exact' }, [1]],
        [{ kind: 'reference', url: 'http://a/x|1', version: 'exact' }, [0]],
        [{ kind: 'reference', url: 'http://a/x|1', version: 'below' }, [0, 3]],
        [{ kind: 'reference', url: 'http://a/x|1.', version: 'below' }, []],
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
        // With a second condition a store may choose another plan.
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
