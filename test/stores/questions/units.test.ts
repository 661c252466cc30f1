import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, Prefix, SearchQuery } from '../../../src/store.js';
import { below, oneOf, PROJECT, queryOf, resourceOf } from '../../support/kit.js';
import { by, match } from '../queries.js';
import { type Answered, answerEverywhere, askEverywhere } from './ask-everywhere.js';

const UCUM = 'http://unitsofmeasure.org';

/** The same code in two systems, a code that is the display unit of another, values without a code, without a unit. */
const UNITS: readonly object[] = [
  ...Array.from({ length: 8 }, () => ({ system: UCUM, code: 'mg' })),
  { system: UCUM, code: 'g' },
  { system: 'urn:other', code: 'mg' },
  { system: UCUM, code: 'ug', unit: 'mg' },
  { unit: 'drops' },
  {},
];

/** Observations with values in many units. */
function observations(count: number, random: () => number): AnyResource[] {
  const quantity = (): object => ({ value: below(40, random), ...oneOf(UNITS, random) });
  return Array.from({ length: count }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${(index * 7919) % 1_003}`,
    status: oneOf(['final', 'final', 'preliminary'], random),
    ...(random() < 0.9 && { valueQuantity: quantity() }),
    component: Array.from({ length: below(4, random) }, () => ({ valueQuantity: quantity() })),
  }));
}

function randomTest(random: () => number): Criteria {
  const prefix = oneOf<Prefix>(['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap'], random);
  const low = below(40, random);
  const high = ['eq', 'ne', 'ap'].includes(prefix) ? low + oneOf([0, 5], random) : low;
  const parameter = oneOf(['value-quantity', 'component-value-quantity', 'combo-value-quantity'], random);
  const unit = oneOf(
    [
      { code: 'mg' },
      { code: 'g' },
      { code: 'ug' },
      { code: 'drops' },
      { code: 'unknown' },
      { system: UCUM, code: 'mg' },
      { system: UCUM, code: 'g' },
      { system: 'urn:other', code: 'mg' },
      { system: 'urn:unknown', code: 'mg' },
      { system: UCUM },
    ],
    random,
  );
  return { kind: 'match', parameter, test: { kind: 'quantity', prefix, low, high, ...unit } };
}

/** Searches for values in a unit, alone or with other conditions. */
function randomUnitQuery(random: () => number): SearchQuery {
  const criteria = oneOf<Criteria>(
    [
      randomTest(random),
      { kind: 'not', of: randomTest(random) },
      { kind: 'and', of: [randomTest(random), match('status', 'final')] },
      { kind: 'and', of: [randomTest(random), { kind: 'not', of: randomTest(random) }] },
      { kind: 'or', of: [randomTest(random), randomTest(random)] },
    ],
    random,
  );
  const sort = oneOf([undefined, [by('_id', random() < 0.5)], [by('value-quantity', random() < 0.5)]], random);
  return { project: PROJECT, type: 'Observation', criteria, sort, limit: oneOf([0, 10], random), total: true };
}

describe('values in a unit', () => {
  askEverywhere({ make: observations, count: 300, ask: randomUnitQuery });
});

/** The number of values of a prefix and a unit. */
function counted(prefix: Prefix, value: number, unit: object): SearchQuery {
  const test = { kind: 'quantity', prefix, low: value, high: value, ...unit } as const;
  const criteria: Criteria = { kind: 'match', parameter: 'value-quantity', test };
  return queryOf('Observation', criteria, { limit: 0, total: true });
}

const inUnit = (value: number, code: string, unit = code): { readonly valueQuantity: object } => ({
  valueQuantity: { value, system: UCUM, code, unit },
});

answerEverywhere(
  'values in a rare unit, and in one that no resource has',
  Array.from({ length: 200 }, (_, index) =>
    resourceOf('Observation', `o${index}`, index % 20 === 0 ? inUnit(index, 'g', 'gram') : inUnit(index, 'mg')),
  ),
  [
    [counted('ge', 96, { code: 'gram' }), { total: 5 }],
    [counted('ge', 96, { system: UCUM, code: 'g' }), { total: 5 }],
    [counted('ge', 96, { code: 'unknown' }), { total: 0 }],
    [counted('ne', 51, { system: UCUM, code: 'mg' }), { total: 189 }],
    [counted('ne', 51, { system: UCUM, code: 'g' }), { total: 10 }],
  ],
);

answerEverywhere(
  'a unit that no resource had when the index was built',
  Array.from({ length: 60 }, (_, index) => resourceOf('Observation', `o${index}`, inUnit(index, 'mmol/L'))),
  [
    [
      { ...counted('gt', 5, { code: 'mmol' }), limit: 10 },
      { total: 1, ids: ['new'] },
    ],
  ],
  [resourceOf('Observation', 'new', inUnit(7, 'mmol')), resourceOf('Observation', 'other', inUnit(7, 'mol'))],
);

const MANY = 160;
answerEverywhere(
  'more units than an index may keep',
  Array.from({ length: 3 * MANY }, (_, index) =>
    resourceOf('Observation', `o${index}`, inUnit(Math.floor(index / MANY), `u${index % MANY}`)),
  ),
  [0, 7, 90, MANY - 1].flatMap((unit): Answered[] => [
    [counted('ge', 1, { code: `u${unit}` }), { total: 2 }],
    [counted('ne', 1, { system: UCUM, code: `u${unit}` }), { total: 2 }],
  ]),
);
