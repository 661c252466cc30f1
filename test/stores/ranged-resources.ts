import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { Prefix } from '../../src/search/criteria/value-test.js';
import { below, oneOf } from '../../src/testing/random.js';

/** Dates and numbers of all kinds: partial, instants, long and open periods, Ranges, and several values, units or periods of one resource. */
export function rangedResources(count: number, random: () => number): AnyResource[] {
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
export function randomRange(random: () => number): { readonly type: string; readonly criteria: Criteria } {
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
