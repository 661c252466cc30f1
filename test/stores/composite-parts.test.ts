import { expect, test } from 'vitest';
import { R4 } from '../../src/fhir/r4.js';
import { extendDefinitions } from '../../src/definitions.js';
import type { ValueTest } from '../../src/search/criteria/value-test.js';
import { waysOfComposite } from '../../src/stores/sql/skip/composite-parts.js';
import { narrowWays } from '../../src/stores/sql/skip/narrow-components.js';

const code: ValueTest = { kind: 'token', code: 'a' };
const above: ValueTest = { kind: 'quantity', prefix: 'gt', low: 1, high: 1 };

test.each([
  ['code-value-quantity', ['code', 'value-quantity']],
  ['component-code-value-quantity', ['component-code', 'component-value-quantity']],
])('a resource with a value of %s has a value of each of its parts', (parameter, [first, second]) => {
  const ways = waysOfComposite({ kind: 'composite', parameter, tests: [code, above] }, R4, 'Observation');
  expect(ways).toEqual([
    [
      { kind: 'match', parameter: first, test: code },
      { kind: 'match', parameter: second, test: above },
    ],
  ]);
});

test.each<readonly [parameter: string, narrow: readonly (string | undefined)[] | undefined]>([
  // A resource has one value, and the plain parameters have no others.
  ['code-value-concept', []],
  ['code-value-date', []],
  // `value-quantity` also has the values of SampledData, `value-string` also the text of a concept.
  ['code-value-quantity', [undefined, 'code-value-quantity$1']],
  ['code-value-string', [undefined, 'code-value-string$1']],
  // Each component is a group.
  ['component-code-value-concept', undefined],
])('the parts of %s suffice with its narrow components', (parameter, expected) => {
  const [way, ...others] = narrowWays(parameter, R4, 'Observation');
  expect([way && Array.from(way, (one) => one?.component), others]).toEqual([expected, []]);
});

test('a part with a parameter that has other values shows nothing', async () => {
  const model = await extendDefinitions(R4, {
    searchParameters: [
      {
        resourceType: 'SearchParameter',
        url: 'https://clinic.example/SearchParameter/range',
        status: 'active',
        code: 'range',
        base: ['Observation'],
        type: 'composite',
        expression: 'Observation.referenceRange',
        component: [
          { definition: 'http://hl7.org/fhir/SearchParameter/clinical-code', expression: 'type' },
          { definition: 'https://nowhere.example/text', expression: 'text' },
        ],
      },
    ] as never,
  });
  const tests: readonly ValueTest[] = [code, { kind: 'string', comparator: 'starts-with', text: 'a' }];
  const ways = waysOfComposite({ kind: 'composite', parameter: 'range', tests }, model, 'Observation');
  expect(ways).toEqual([[undefined, undefined]]);
});

test('a resource with a value in one of several places has both parts there', () => {
  const criteria = { kind: 'composite', parameter: 'combo-code-value-quantity', tests: [code, above] } as const;
  const both = (first: string, second: string): object[] => [
    { kind: 'match', parameter: first, test: code },
    { kind: 'match', parameter: second, test: above },
  ];
  expect(waysOfComposite(criteria, R4, 'Observation')).toEqual([
    both('code', 'value-quantity'),
    both('component-code', 'component-value-quantity'),
  ]);
  expect(waysOfComposite({ ...criteria, parameter: 'none' }, R4, 'Observation')).toEqual([]);
});
