import { describe, expect, test } from 'vitest';
import { skewedLines } from '../../bench/scale/skewed-lines.js';

interface Sample {
  readonly resourceType: string;
  readonly id: string;
  readonly [element: string]: unknown;
}

const SIZE = 1_000_000;
/** Windows of twenty lines from all of the data, in the order of writing. */
const samples = Array.from({ length: 500 }, (_, window) => window * (SIZE / 500))
  .flatMap((from) => [...skewedLines(SIZE, from, from + 20)])
  .map((line) => JSON.parse(line) as Sample);

function ofType(type: string): Sample[] {
  return samples.filter(({ resourceType }) => resourceType === type);
}

/** How many of the type have this text in them, from 0 to 1. */
function share(type: string, text: string): number {
  const all = ofType(type);
  return all.filter((resource) => JSON.stringify(resource).includes(text)).length / all.length;
}

/** How often the later of two has the larger value, from 0 to 1: a half if they are independent. */
function agreement(pairs: readonly (readonly [string | number, string | number])[]): number {
  let [agreed, all] = [0, 0];
  for (const [at, [a, b]] of pairs.entries()) {
    for (const [c, d] of pairs.slice(at + 1, at + 50)) {
      if (a === c || b === d) continue;
      all += 1;
      if (a < c === b < d) agreed += 1;
    }
  }
  return agreed / all;
}

function dateOf(resource: Sample): string {
  return (
    /"(?:effectiveDateTime|start|authoredOn|recordedDate)":"(\d{4}-\d{2}-\d{2})/.exec(JSON.stringify(resource))?.[1] ??
    ''
  );
}

describe('data of the broad questions at a million', () => {
  test('is skewed: nearly all have one status, nearly all requests are orders, a few codes are frequent', () => {
    expect(share('Observation', '"status":"final"')).toBeGreaterThan(0.85);
    expect(share('ServiceRequest', '"intent":"order"')).toBeGreaterThan(0.98);
    expect(share('Observation', '"code":"c0"')).toBeGreaterThan(0.03);
    expect(share('Observation', 'Practitioner/p1"')).toBeGreaterThan(0.75);
    expect(share('Observation', '"code":"c150"')).toBeLessThan(0.01);
  });

  test('has dates that follow the ids, and dates that do not', () => {
    const pairs = (type: string): [string, string][] =>
      ofType(type)
        .filter((resource) => dateOf(resource) !== '')
        .map((resource) => [resource.id, dateOf(resource)]);
    expect(agreement(pairs('Observation'))).toBeGreaterThan(0.95);
    for (const type of ['Encounter', 'Condition', 'ServiceRequest']) {
      expect(agreement(pairs(type))).toBeGreaterThan(0.4);
      expect(agreement(pairs(type))).toBeLessThan(0.6);
    }
  });

  test('has conditions that follow dates, but neither ids nor the order of writing', () => {
    const lengths = ofType('Encounter').map((resource) => (resource['length'] as { readonly value: number }).value);
    const dates = ofType('Encounter').map(dateOf);
    expect(agreement(lengths.map((length, at) => [dates[at]!, length]))).toBeGreaterThan(0.95);
    expect(agreement(lengths.map((length, at) => [at, length]))).toBeLessThan(0.6);
    const cancelled = ofType('Encounter').filter(({ status }) => status === 'cancelled');
    expect(cancelled.length).toBeGreaterThan(100);
    for (const resource of cancelled) expect(dateOf(resource) < '2005-07-01').toBe(true);
  });

  test('has statuses at one end of an order only', () => {
    const observations = ofType('Observation').filter((resource) => dateOf(resource) !== '');
    const datesOf = (wanted: string): string[] =>
      observations
        .filter(({ status }) => status === wanted)
        .map(dateOf)
        .sort();
    expect(datesOf('preliminary')[0]! > '2021-08').toBe(true);
    expect(datesOf('registered').at(-1)! < '2004-07').toBe(true);
    expect(share('Observation', '"status":"registered"')).toBeGreaterThan(0.09);
  });

  test('has values that repeat within a resource, missing values, and elements that no resource has', () => {
    const repeats = (type: string, path: RegExp, least: number): number =>
      ofType(type).filter((resource) => (JSON.stringify(resource).match(path)?.length ?? 0) >= least).length /
      ofType(type).length;
    expect(repeats('Observation', /"system":"category"/g, 2)).toBeGreaterThan(0.8);
    expect(repeats('ServiceRequest', /urn:protocol/g, 2)).toBeGreaterThan(0.4);
    expect(repeats('ServiceRequest', /urn:protocol/g, 1)).toBeLessThan(0.6);
    expect(share('Observation', '"effective')).toBeGreaterThan(0.95);
    expect(share('Observation', '"effective')).toBeLessThan(0.99);
    expect(share('Condition', '"onsetDateTime"')).toBeLessThan(0.4);
    expect(share('Observation', '"valueDateTime"')).toBe(0);
  });

  test('has halves that exclude each other', () => {
    expect(share('Observation', '"method"') + share('Observation', '"device"')).toBe(1);
    for (const resource of ofType('Observation')) expect('method' in resource && 'device' in resource).toBe(false);
  });
});
