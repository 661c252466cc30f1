import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, TokenTest } from '../../../src/store.js';
import { below, oneOf, queryOf } from '../../support/kit.js';
import { by, match } from '../queries.js';
import { askEverywhere } from './ask-everywhere.js';

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
function codedObservations(count: number): readonly AnyResource[] {
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
const UNUSED = 'data-absent-reason';

/** Tests of codes, systems and both, each with its negation. */
const TESTS: readonly TokenTest[] = ['a', 'b', undefined].flatMap((code) =>
  [{}, { system: 'urn:1' }, { system: 'urn:2' }, { system: 'urn:none' }, { noSystem: true }].flatMap((system) =>
    [false, true].map((negated) => ({ kind: 'token' as const, code, ...system, negated })),
  ),
);

/** The same Observations, of which some have other systems, also systems that no resource had before. */
function changingSystems(count: number, random: () => number): readonly AnyResource[] {
  const systems = oneOf([['urn:1'], ['urn:1', 'urn:2', `urn:new${below(9, random)}`]], random);
  const codings = (): object[] =>
    Array.from({ length: 1 + below(2, random) }, () => ({
      code: oneOf(['a', 'a', 'b', 'new'], random),
      ...(random() < 0.9 ? { system: oneOf(systems, random) } : {}),
    }));
  return codedObservations(count).map((one) => {
    if (random() < 0.7) return one;
    const method = random() < 0.2 ? { text: 'x' } : { coding: codings() };
    return { ...one, code: { coding: codings() }, method };
  });
}

describe('codes with their system', () => {
  askEverywhere({
    make: changingSystems,
    count: 250,
    ask: (random) => {
      const parameter = oneOf(['code', 'method', 'category', UNUSED], random);
      const one: Criteria = { kind: 'match', parameter, test: oneOf(TESTS, random) };
      const each = oneOf<Criteria>([one, { kind: 'not', of: one }], random);
      const criteria: Criteria = { kind: 'and', of: [each, match('status', 'final')] };
      const sort = [by(oneOf(['_id', 'method'], random), random() < 0.5)];
      return queryOf('Observation', criteria, { sort, limit: oneOf([0, 5], random), total: true });
    },
  });
});
