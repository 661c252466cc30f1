import type { AnyResource } from '../fhir/resource.js';
import { below, oneOf } from './random.js';

/**
 * A small sample with the skew of large stores: nearly all resources have one status, some values follow the order of
 * the ids, values repeat within and across resources, some elements are rare, some periods have no end.
 */
export function skewedResources(count: number, random: () => number): AnyResource[] {
  const chance = (probability: number): boolean => random() < probability;
  const day = (number: number): string =>
    new Date(Date.UTC(2020, 0, 1) + number * 86_400_000).toISOString().slice(0, 10);
  return Array.from({ length: count }, (_, index) => {
    const isLate = index > 0.9 * count;
    // Ids of one kind follow the order of the values below, the others do not.
    const id = chance(0.7) ? `o${String(index).padStart(4, '0')}` : `x${below(1e9, random).toString(36)}${index}`;
    const start = day(chance(0.8) ? Math.floor(index / 7) : below(60, random));
    const codes = Array.from({ length: chance(0.2) ? 2 : 1 }, () => oneOf(CODES, random));
    const observation = {
      resourceType: 'Observation',
      id,
      status: isLate ? 'preliminary' : chance(0.03) ? 'amended' : 'final',
      category: [...new Set(codes)].map((code) => ({ coding: [{ system: 'urn:category', code }] })),
      code: { coding: [{ system: 'http://loinc.org', code: `c${Math.floor(12 * random() * random())}` }] },
      subject: { reference: `Patient/${chance(0.8) ? 'most' : `p${below(9, random)}`}` },
      ...(chance(0.1)
        ? {}
        : chance(0.2)
          ? { effectivePeriod: { start, ...(chance(0.3) ? {} : { end: day(60 + below(20, random)) }) } }
          : { effectiveDateTime: chance(0.5) ? start : `${start}T0${below(10, random)}:00:00Z` }),
      ...(chance(0.6) ? { valueQuantity: { value: below(20, random) / 2, code: 'mg', system: 'urn:u' } } : {}),
      ...(chance(0.02) ? { valueString: oneOf(TEXTS, random) } : {}),
    };
    return observation;
  });
}

const CODES = ['laboratory', 'laboratory', 'laboratory', 'exam', 'vital-signs'];
const TEXTS = ['Öl', 'oil', "O'il", '(oil)', 'zinc'];
