import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, ValueTest } from '../../../src/store.js';
import { oneOf, queryOf, resourceOf } from '../../support/kit.js';
import { by, match } from '../queries.js';
import { answerEverywhere, askEverywhere } from './ask-everywhere.js';

/** Values with and without codes and systems, absolute references, and no, one or several values of each parameter. */
function serviceRequests(count: number, random: () => number): AnyResource[] {
  const several = <Value>(make: () => Value): readonly Value[] =>
    Array.from({ length: oneOf([0, 1, 1, 1, 1, 2, 3], random) }, make);
  const concept = (): object =>
    random() < 0.1
      ? { text: 'only a text' }
      : {
          coding: Array.from({ length: oneOf([1, 1, 1, 2], random) }, () => ({
            code: oneOf(['a', 'a', 'b', 'c'], random),
            ...(random() < 0.7 ? { system: oneOf(['urn:1', 'urn:1', 'urn:2'], random) } : {}),
          })),
        };
  const reference = (): object => ({
    reference: oneOf(
      ['Patient/p1', 'Patient/p1', 'Patient/p2', 'Group/p1', 'https://other.example/Patient/p1'],
      random,
    ),
  });
  return Array.from({ length: count }, (_, index) => ({
    resourceType: 'ServiceRequest',
    id: `s${(index * 7919) % 1_009}`,
    status: oneOf(['active', 'active', 'draft'], random),
    intent: 'order',
    ...(random() < 0.9 ? { code: concept(), subject: reference() } : {}),
    category: several(concept),
    performer: several(() => ({ reference: `Practitioner/${oneOf(['a', 'a', 'b'], random)}` })),
    identifier: several(() => ({
      value: oneOf(['n0', 'n0', 'n1'], random),
      system: oneOf(['urn:1', 'urn:2'], random),
    })),
    instantiatesUri: several(() => oneOf(['http://x.example/a', 'http://x.example/b'], random)),
    instantiatesCanonical: several(() => oneOf(['http://x.example/a', 'http://x.example/a|1'], random)),
  }));
}

/** Tests for another value. */
function randomOther(random: () => number): Criteria {
  const [parameter, make] = oneOf<readonly [string, () => ValueTest]>(
    [
      ['status', () => ({ kind: 'token', code: oneOf(['active', 'draft', 'x'], random), negated: true })],
      ...['code', 'category', 'identifier'].map(
        (one) =>
          [
            one,
            (): ValueTest => ({
              kind: 'token',
              negated: true,
              ...(random() < 0.9
                ? { code: oneOf(one === 'identifier' ? ['n0', 'n1'] : ['a', 'b', 'c', 'x'], random) }
                : {}),
              ...oneOf([{}, { system: 'urn:1' }, { system: 'urn:none' }, { noSystem: true }, { folded: 'b' }], random),
            }),
          ] as const,
      ),
      ['subject', () => oneOf<ValueTest>([to('Patient', 'p1'), to('Patient'), to('Group', 'none'), URL], random)],
      ['performer', () => to('Practitioner', oneOf(['a', 'b', 'none'], random))],
      ['instantiates-uri', () => ({ kind: 'uri', comparator: 'not-equals', value: 'http://x.example/a' })],
      ['instantiates-canonical', () => ({ ...URL, url: 'http://x.example/a' })],
    ],
    random,
  );
  return { kind: 'match', parameter, test: make() };
}

/** Tests for another target, or another type of target. */
function to(type: string, id?: string): ValueTest {
  return { kind: 'reference', types: [type], negated: true, ...(id === undefined ? {} : { id }) };
}

const URL = { kind: 'reference', url: 'https://other.example/Patient/p1', negated: true } as const;

/** Criteria for the value that the test excludes. */
function equalTo(criteria: Criteria): Criteria {
  if (criteria.kind !== 'match' || !('negated' in criteria.test)) return criteria;
  const { negated: _, ...test } = criteria.test;
  return { ...criteria, test };
}

describe('other values than one', () => {
  askEverywhere({
    make: serviceRequests,
    count: 250,
    ask: (random) => {
      const [one, other] = [randomOther(random), randomOther(random)];
      const of: readonly Criteria[] = [one, random() < 0.5 ? other : match('status', 'active')];
      const inSystem: Criteria = { kind: 'match', parameter: 'code', test: { kind: 'token', system: 'urn:1' } };
      const criteria = oneOf<Criteria>(
        [
          one,
          equalTo(one),
          { kind: 'not', of: one },
          { kind: 'not', of: equalTo(one) },
          { kind: 'and', of },
          { kind: 'and', of: [equalTo(one), other] },
          { kind: 'and', of: [inSystem, other] },
          { kind: 'or', of },
          { kind: 'not', of: { kind: 'or', of } },
        ],
        random,
      );
      const sort = random() < 0.5 ? undefined : [by('code', random() < 0.5)];
      return queryOf('ServiceRequest', criteria, { sort, limit: oneOf([0, 10], random), total: true });
    },
  });
});

const PRESENT: Criteria = { kind: 'missing', parameter: 'category', missing: false };
answerEverywhere(
  'codes that equal internal numbers of an index',
  Array.from({ length: 400 }, (_, index) =>
    resourceOf('ServiceRequest', `s${index}`, { category: [{ coding: [{ code: index % 4 === 0 ? '0' : '-1' }] }] }),
  ),
  (
    [
      [{ kind: 'not', of: match('category', '-1') }, 100],
      [match('category', '0'), 100],
      [match('category', '-1'), 300],
    ] as const
  ).map(([one, total]) => [
    queryOf('ServiceRequest', { kind: 'and', of: [PRESENT, one] }, { limit: 0, total: true }),
    { total },
  ]),
);
