import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, Prefix, SearchQuery, ValueTest } from '../../../src/store.js';
import { below, oneOf, queryOf, resourceOf } from '../../support/kit.js';
import { by } from '../queries.js';
import { answerEverywhere, askEverywhere } from './ask-everywhere.js';

/** Dates and numbers of all kinds: partial, instants, long and open periods, Ranges, and several values, units or periods of one resource. */
function rangedResources(count: number, random: () => number): AnyResource[] {
  return Array.from({ length: count }, (_, index) => {
    if (index % 3 === 0) {
      const value = (): number => below(30, random) / 30;
      const prediction = Array.from({ length: oneOf([1, 1, 1, 3], random) }, () =>
        random() < 0.8
          ? { probabilityDecimal: value() }
          : { probabilityRange: { low: { value: value() / 2 }, high: { value: value() / 2 + 0.5 } } },
      );
      return { resourceType: 'RiskAssessment', id: `r${index}`, status: 'final', prediction, ...occurrence(random) };
    }
    if (index % 7 === 1) {
      const event = Array.from({ length: oneOf([1, 2, 3], random) }, () => ({ period: period(random) }));
      return { resourceType: 'Composition', id: `c${index}`, status: 'final', event };
    }
    const unit = oneOf(['mg', 'mg', 'g'], random);
    return {
      resourceType: 'Observation',
      id: `o${(index * 7919) % 1_003}`,
      status: oneOf(['final', 'final', 'amended'], random),
      code: { coding: [{ code: `c${below(9, random)}` }] },
      ...(random() < 0.1 ? {} : { effectiveDateTime: dateTime(below(SPAN, random), random) }),
      ...(random() < 0.1 ? {} : { valueQuantity: { value: below(40, random), system: 'urn:u', code: unit } }),
      component: Array.from({ length: below(4, random) }, () => ({
        code: { text: 'part' },
        valueQuantity: { value: below(40, random), system: 'urn:u', code: oneOf(['mg', 'mg', 'g'], random) },
      })),
    };
  });
}

/** A range, its negation, or a range with another condition. */
function randomRange(random: () => number): { readonly type: string; readonly criteria: Criteria } {
  const type = oneOf(['Observation', 'RiskAssessment', 'Composition'], random);
  const range = rangeOn(type, random);
  const other: Criteria =
    random() < 0.5 ? { kind: 'missing', parameter: 'date', missing: random() < 0.5 } : rangeOn(type, random);
  const criteria = oneOf<Criteria>(
    [range, range, { kind: 'not', of: range }, { kind: 'and', of: [range, other] }, { kind: 'or', of: [range, other] }],
    random,
  );
  return { type, criteria };
}

function rangeOn(type: string, random: () => number): Criteria {
  if (type === 'Composition') return dates('period', random);
  return random() < 0.5 ? dates('date', random) : numbers(type, random);
}

function dates(parameter: string, random: () => number): Criteria {
  const low = START + below(SPAN, random) * HOUR;
  const high = low + oneOf([1, HOUR, 24 * HOUR, 90 * HOUR], random);
  return { kind: 'match', parameter, test: { kind: 'date', prefix: oneOf(PREFIXES, random), low, high } };
}

function numbers(type: string, random: () => number): Criteria {
  const prefix = oneOf(PREFIXES, random);
  const isPoint = !['eq', 'ne', 'ap', 'po'].includes(prefix);
  const low = type === 'Observation' ? below(40, random) : below(30, random) / 30;
  const high = isPoint ? low : low + (type === 'Observation' ? 3 : 0.2);
  if (type !== 'Observation') {
    return { kind: 'match', parameter: 'probability', test: { kind: 'number', prefix, low, high } };
  }
  const unit = oneOf([{}, {}, { system: 'urn:u', code: 'mg' }, { code: 'g' }], random);
  const parameter = oneOf(['value-quantity', 'component-value-quantity'], random);
  return { kind: 'match', parameter, test: { kind: 'quantity', prefix, low, high, ...unit } };
}

function occurrence(random: () => number): object {
  return { occurrencePeriod: period(random) };
}

function period(random: () => number): object {
  const start = below(SPAN, random);
  const end = random() < 0.3 ? {} : { end: dateTime(start + below(oneOf([30, 400], random), random), random, true) };
  return { start: dateTime(start, random, true), ...end };
}

/** @param hours hours since the start @param isInstant without partial dates */
function dateTime(hours: number, random: () => number, isInstant = false): string {
  const text = new Date(START + hours * HOUR).toISOString();
  return isInstant || random() < 0.6 ? text : text.slice(0, oneOf([10, 10, 7], random));
}

const PREFIXES: readonly Prefix[] = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap'];
const HOUR = 3_600_000;
const START = Date.UTC(2020, 0, 1);
/** Range of the hours in which dates begin. */
const SPAN = 500;

describe('ranges with any ends', () => {
  askEverywhere({
    make: rangedResources,
    count: 300,
    ask: (random) => {
      const { type, criteria } = randomRange(random);
      const sort = random() < 0.5 ? undefined : [by(type === 'Observation' ? 'code' : 'date', random() < 0.5)];
      return queryOf(type, criteria, { sort, limit: oneOf([0, 10], random), total: true });
    },
  });
});

/** The number of resources with a value of a range. */
function counted(type: string, parameter: string, test: ValueTest): SearchQuery {
  return queryOf(type, { kind: 'match', parameter, test }, { limit: 0, total: true });
}

const quantity = (prefix: Prefix, value: number, unit: object = {}): ValueTest => ({
  kind: 'quantity',
  prefix,
  low: value,
  high: value,
  ...unit,
});

answerEverywhere(
  'a value at an end of the range that very many resources have',
  Array.from({ length: 500 }, (_, index) => {
    const value = index % 5 < 3 ? 7 : 8 + (index % 97);
    const code = index % 10 === 0 ? 'g' : 'mg';
    return resourceOf('Observation', `o${index}`, { valueQuantity: { value, system: 'urn:u', code } });
  }),
  [
    [counted('Observation', 'value-quantity', quantity('ge', 7)), { total: 500 }],
    [counted('Observation', 'value-quantity', quantity('gt', 7)), { total: 200 }],
    [counted('Observation', 'value-quantity', quantity('le', 7)), { total: 300 }],
    [counted('Observation', 'value-quantity', quantity('lt', 7)), { total: 0 }],
    [counted('Observation', 'value-quantity', quantity('ge', 7, { system: 'urn:u', code: 'g' })), { total: 50 }],
  ],
);

const part = (value: number, code: string): object => ({ code: { text: 'part' }, valueQuantity: { value, code } });
answerEverywhere(
  'a value in the searched unit beyond values in another unit',
  Array.from({ length: 60 }, (_, index) => {
    const others = index % 2 === 0 ? [part(-1 - index, 'g'), part(100 + index, 'g')] : [];
    return resourceOf('Observation', `o${index}`, { component: [part(index, 'mg'), ...others] });
  }),
  (
    [
      ['ge', 50, 10],
      ['gt', 50, 9],
      ['le', 10, 11],
      ['lt', 10, 10],
    ] as const
  ).map(([prefix, value, total]) => [
    counted('Observation', 'component-value-quantity', quantity(prefix, value, { code: 'mg' })),
    { total },
  ]),
);

const DAY = Date.UTC(2014, 4, 6);
const MINUTE = 60_000;
// The minutes 0 to 599, each once, except that every 20th resource lasts the whole day.
const ON_BUSY_DAY = { gt: 285 + 30, ge: 285 + 30, lt: 285 + 30, le: 285 + 30, eq: 0 } as const;
answerEverywhere(
  'a range that ends within a busy day',
  Array.from({ length: 600 }, (_, index) => {
    const instant = new Date(DAY + MINUTE * ((index * 7) % 600)).toISOString();
    return resourceOf('RiskAssessment', `r${index}`, { occurrenceDateTime: index % 20 === 0 ? '2014-05-06' : instant });
  }),
  (Object.keys(ON_BUSY_DAY) as (keyof typeof ON_BUSY_DAY)[]).map((prefix) => {
    const [low, high] = [DAY + 300 * MINUTE, DAY + 301 * MINUTE];
    return [counted('RiskAssessment', 'date', { kind: 'date', prefix, low, high }), { total: ON_BUSY_DAY[prefix] }];
  }),
);

answerEverywhere(
  'values that repeat, two of each resource',
  Array.from({ length: 200 }, (_, index) =>
    resourceOf('RiskAssessment', `r${index}`, {
      prediction: [index % 10, (index * 7) % 10].map((tenths) => ({ probabilityDecimal: tenths / 10 })),
    }),
  ),
  [
    [
      queryOf(
        'RiskAssessment',
        {
          kind: 'not',
          of: {
            kind: 'match',
            parameter: 'probability',
            test: { kind: 'number', prefix: 'eq', low: 0.35, high: 0.45 },
          },
        },
        { limit: 0, total: true },
      ),
      { total: 160 },
    ],
  ],
);
