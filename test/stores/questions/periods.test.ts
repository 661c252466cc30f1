import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, Prefix, SearchQuery } from '../../../src/store.js';
import { below, oneOf, PROJECT, queryOf } from '../../support/kit.js';
import { by, match } from '../queries.js';
import { answerEverywhere, askEverywhere } from './ask-everywhere.js';

const DAY = 86_400_000;
const START = Date.UTC(2020, 0, 1);
const SPAN = 200;

/** Most periods have no end, some end at the same moment, some last hours. */
function period(random: () => number): object {
  const start = START + below(SPAN * 24, random) * 3_600_000;
  const ends = [undefined, undefined, undefined, start + below(90, random) * DAY, START + 150 * DAY, start + 3_600_000];
  const end = oneOf(ends, random);
  const text = (instant: number): string => new Date(instant).toISOString();
  return { start: text(start), ...(end !== undefined && { end: text(Math.max(start, end)) }) };
}

/** Encounters have one period, Compositions have several, and RiskAssessments have Ranges of numbers. */
function resourcesWithPeriods(count: number, random: () => number): AnyResource[] {
  return Array.from({ length: count }, (_, index) => {
    const status = oneOf(['finished', 'finished', 'planned'], random);
    const id = `o${(index * 7919) % 1_003}`;
    if (index % 3 === 0) {
      const event = Array.from({ length: oneOf([1, 1, 2, 3], random) }, () => ({ period: period(random) }));
      return { resourceType: 'Composition', id, status, event };
    }
    if (index % 3 === 1) {
      const low = below(20, random) / 40;
      const range = { low: { value: low }, high: { value: oneOf([1, low + below(20, random) / 40], random) } };
      const prediction = [random() < 0.6 ? { probabilityRange: range } : { probabilityDecimal: low }];
      return { resourceType: 'RiskAssessment', id, status, prediction };
    }
    return { resourceType: 'Encounter', id, status, ...(random() < 0.05 ? {} : { period: period(random) }) };
  });
}

/** Searches for a range of them, alone or with other conditions. */
function randomPeriodQuery(random: () => number): SearchQuery {
  const [type, parameter] = oneOf(
    [
      ['Encounter', 'date'],
      ['Composition', 'period'],
      ['RiskAssessment', 'probability'],
    ] as const,
    random,
  );
  const prefix = oneOf<Prefix>(['eq', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap', 'po'], random);
  const range = (): Criteria => {
    if (type === 'RiskAssessment') {
      const low = below(20, random) / 40;
      const high = ['eq', 'ap', 'po'].includes(prefix) ? low + oneOf([0, 0.2], random) : low;
      return { kind: 'match', parameter, test: { kind: 'number', prefix, low, high } };
    }
    const low = START + below(SPAN, random) * DAY;
    const high = low + oneOf([1, DAY, 30 * DAY], random);
    return { kind: 'match', parameter, test: { kind: 'date', prefix, low, high } };
  };
  const criteria = oneOf<Criteria>(
    [
      range(),
      range(),
      { kind: 'not', of: range() },
      { kind: 'and', of: [range(), match('status', 'finished')] },
      { kind: 'or', of: [range(), range()] },
    ],
    random,
  );
  const sort = random() < 0.5 ? undefined : [by('_id', random() < 0.5)];
  return { project: PROJECT, type, criteria, sort, limit: oneOf([0, 10], random), total: true };
}

/** Encounters without an end, one a day. */
function openEncounters(count: number): AnyResource[] {
  return Array.from({ length: count }, (_, index) => {
    const period = { start: new Date(START + index * DAY).toISOString() };
    return { resourceType: 'Encounter', id: `e${index}`, status: 'planned', period };
  });
}

/** Thirty days of them, of which the first is the 300th. */
function daysOf(prefix: Prefix): Criteria {
  const low = START + 300 * DAY;
  return { kind: 'match', parameter: 'date', test: { kind: 'date', prefix, low, high: low + 30 * DAY } };
}

describe('ranges among periods of which most have no end', () => {
  askEverywhere({ make: resourcesWithPeriods, count: 300, ask: randomPeriodQuery });
});

const FOUND = { ge: 600, gt: 600, ap: 330, eq: 0, le: 300, eb: 0 } as const;
answerEverywhere(
  'many periods reach into a range or out of it',
  openEncounters(600),
  (Object.keys(FOUND) as (keyof typeof FOUND)[]).map((prefix) => {
    const criteria: Criteria = { kind: 'and', of: [daysOf(prefix), match('status', 'planned')] };
    return [queryOf('Encounter', criteria, { limit: 0, total: true }), { total: FOUND[prefix] }];
  }),
);

/** Encounters of ten days, of which one begins each day. */
function stays(count: number): AnyResource[] {
  return Array.from({ length: count }, (_, day) => stay(`e${day}`, day, day + 10));
}

/** Encounters that began before the first of {@link stays}, and ended before it did. */
function earlierStays(count: number): AnyResource[] {
  return Array.from({ length: count }, (_, index) => stay(`before${index}`, -100 - index, 1));
}

function stay(id: string, first: number, last: number): AnyResource {
  const text = (day: number): string => new Date(START + day * DAY).toISOString();
  const period = { start: text(first), end: text(last) };
  const encounter = { resourceType: 'Encounter', id, status: 'planned', period };
  return encounter;
}

/** A range of one day. */
function dayOf(prefix: Prefix, day: number): Criteria {
  const low = START + day * DAY;
  return { kind: 'match', parameter: 'date', test: { kind: 'date', prefix, low, high: low + DAY } };
}

answerEverywhere(
  'periods before all others are written later',
  stays(600),
  [
    [queryOf('Encounter', dayOf('sa', -50), { limit: 0, total: true }), { total: 600 }],
    [queryOf('Encounter', dayOf('ge', 5), { limit: 0, total: true }), { total: 600 }],
    [queryOf('Encounter', dayOf('ge', 5), { limit: 2 }), { ids: ['e0', 'e1'] }],
  ],
  earlierStays(20),
);
