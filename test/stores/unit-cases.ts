import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { Prefix } from '../../src/search/criteria/value-test.js';
import type { SearchQuery } from '../../src/store/search-query.js';
import { PROJECT } from '../../src/testing/conformance-case.js';
import { below, oneOf } from '../../src/testing/random.js';
import { by, match } from './skip-cases.js';

export const UCUM = 'http://unitsofmeasure.org';

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
export function observations(count: number, random: () => number, prefix = ''): AnyResource[] {
  const quantity = (): object => ({ value: below(40, random), ...oneOf(UNITS, random) });
  return Array.from({ length: count }, (_, index) => ({
    resourceType: 'Observation',
    id: `${prefix}${(index * 7919) % 1_003}`,
    status: oneOf(['final', 'final', 'preliminary'], random),
    ...(random() < 0.9 && { valueQuantity: quantity() }),
    component: Array.from({ length: below(4, random) }, () => ({ valueQuantity: quantity() })),
  }));
}

function inUnit(random: () => number): Criteria {
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
export function randomUnitQuery(random: () => number): SearchQuery {
  const criteria = oneOf<Criteria>(
    [
      inUnit(random),
      { kind: 'not', of: inUnit(random) },
      { kind: 'and', of: [inUnit(random), match('status', 'final')] },
      { kind: 'and', of: [inUnit(random), { kind: 'not', of: inUnit(random) }] },
      { kind: 'or', of: [inUnit(random), inUnit(random)] },
    ],
    random,
  );
  const sort = oneOf([undefined, [by('_id', random() < 0.5)], [by('value-quantity', random() < 0.5)]], random);
  return { project: PROJECT, type: 'Observation', criteria, sort, limit: oneOf([0, 10], random), total: true };
}
