import type { AnyResource } from '../../src/fhir/resource.js';
import type { TokenTest } from '../../src/search/criteria/value-test.js';

const TWO_SYSTEMS = ['urn:1', 'urn:2'].map((system) => ({ code: 'a', system }));
const METHODS = [
  ...Array.from({ length: 4 }, () => [TWO_SYSTEMS[0]]),
  [TWO_SYSTEMS[1]],
  TWO_SYSTEMS,
  [TWO_SYSTEMS[0], { code: 'b', system: 'urn:1' }],
  [{ code: 'a' }],
  [{ code: 'b', system: 'urn:1' }],
  [{ code: 'b', system: 'urn:2' }, { code: 'c' }],
];

/** Observations with codes of one system (`code`), of several (`method`) or of very many (`category`). */
export function codedObservations(count: number): readonly AnyResource[] {
  return Array.from({ length: count }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: index % 3 === 0 ? 'amended' : 'final',
    code: { coding: [{ code: 'a', system: 'urn:1' }] },
    ...(index % 7 === 6 ? {} : { method: { coding: METHODS[index % METHODS.length] } }),
    category: [{ coding: [{ code: 'a', system: `urn:${index % 70}` }] }],
  }));
}

/** No resource has a value of this parameter. */
export const UNUSED = 'data-absent-reason';

/** Tests of codes, systems and both, each with its negation. */
export const TESTS: readonly TokenTest[] = ['a', 'b', undefined].flatMap((code) =>
  [{}, { system: 'urn:1' }, { system: 'urn:2' }, { system: 'urn:none' }, { noSystem: true }].flatMap((system) =>
    [false, true].map((negated) => ({ kind: 'token' as const, code, ...system, negated })),
  ),
);
