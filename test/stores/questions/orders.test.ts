import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, Prefix, SortKey } from '../../../src/store.js';
import { oneOf, queryOf, resourceOf } from '../../support/kit.js';
import { correlatedObservations } from '../correlated-observations.js';
import { above, by, match } from '../queries.js';
import { answerEverywhere, askEverywhere } from './ask-everywhere.js';

const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
const or = (...of: readonly Criteria[]): Criteria => ({ kind: 'or', of });
const present = (parameter: string): Criteria => ({ kind: 'missing', parameter, missing: false });
const absent = (parameter: string): Criteria => ({ kind: 'missing', parameter, missing: true });
const dated = (prefix: Prefix, day: string): Criteria => {
  const low = Date.parse(day);
  return { kind: 'match', parameter: 'date', test: { kind: 'date', prefix, low, high: low + 86_400_000 } };
};

/** No Observation has a value of these. */
const UNUSED: readonly Criteria[] = [
  { kind: 'match', parameter: 'value-string', test: { kind: 'string', comparator: 'not-equals', text: 'a' } },
  { kind: 'match', parameter: 'value-string', test: { kind: 'string', comparator: 'contains', text: 'a' } },
  { kind: 'match', parameter: 'data-absent-reason', test: { kind: 'token', code: 'm', negated: true } },
  { kind: 'match', parameter: 'encounter', test: { kind: 'reference', types: ['Encounter'], id: 'e' } },
  { kind: 'match', parameter: 'component-value-quantity', test: { kind: 'quantity', prefix: 'ge', low: 1, high: 1 } },
];
const OLD = and(match('status', 'corrected'), not(above(50)));

/** Conditions that depend on the order of dates and values: old Observations are corrected, low, and without a subject. */
const CONDITIONS: readonly Criteria[] = [
  { kind: 'all' },
  match('status', 'final'),
  match('status', 'corrected'),
  match('status', 'unknown'),
  not(match('status', 'corrected')),
  not(match('status', 'final')),
  not(match('code', 'c1')),
  above(20),
  above(250),
  above(10_000),
  not(above(120)),
  dated('lt', '2011-01-01'),
  dated('eb', '2013-06-01'),
  present('subject'),
  absent('subject'),
  present('date'),
  or(present('subject'), present('subject:identifier')),
  and(match('status', 'corrected'), match('code', 'c1')),
  and(match('status', 'final'), not(match('code', 'c2'))),
  and(match('status', 'final'), above(130)),
  and(match('code', 'c1'), dated('ge', '2012-01-01')),
  // They exclude each other.
  and(match('status', 'corrected'), above(200)),
  or(match('code', 'c0'), match('code', 'c3')),
  or(match('status', 'final'), above(90)),
  and(or(match('status', 'final'), match('code', 'c1')), dated('lt', '2013-01-01')),
  or(and(not(dated('eq', '2013-01-01')), match('code', 'c1')), not(match('status', 'final'))),
  or(and(above(100), dated('ge', '2013-02-01')), absent('date')),
  OLD,
  ...UNUSED.flatMap((one) => [or(one, OLD), and(one, above(100)), not(one)]),
  {
    kind: 'composite',
    parameter: 'code-value-quantity',
    tests: [
      { kind: 'token', code: 'c1' },
      { kind: 'quantity', prefix: 'lt', low: 40, high: 40 },
    ],
  },
];

const SORTS: readonly (readonly SortKey[])[] = [
  [],
  [by('date')],
  [by('date', true)],
  [by('_id', true)],
  [by('code', true)],
  [by('subject')],
  [by('value-quantity', true)],
  [by('value-quantity'), by('date')],
  [by('status'), by('date', true)],
  [by('status', true), by('code', true)],
  [by('code'), by('_lastUpdated')],
  [by('_lastUpdated', true), by('date')],
  [by('subject', true), by('date')],
  // Only some of the later ones have a method, and none has a device.
  [by('method')],
  [by('method', true), by('date')],
  [by('device'), by('date', true)],
];

/** Further ones also have a method, and a few are far from the values of all others. */
function observations(count: number, random: () => number): readonly AnyResource[] {
  const all = correlatedObservations(200);
  if (count === all.length && random() < 0.5) return all;
  return all.slice(0, count).map((one) => ({
    ...one,
    ...oneOf<object>(
      [
        oneOf(all, random),
        { method: { coding: [{ code: oneOf(['m', 'n'], random) }] } },
        {
          effectiveDateTime: `20${oneOf([30, 35], random)}-01-01`,
          code: { coding: [{ code: oneOf(['a', 'z'], random) }] },
        },
        { subject: { reference: `Patient/${oneOf(['a', 'zz'], random)}` }, code: { text: 'only a text' } },
      ],
      random,
    ),
    id: one.id!,
  }));
}

describe('conditions and orders that depend on each other', () => {
  askEverywhere({
    make: observations,
    count: 200,
    ask: (random) =>
      queryOf('Observation', oneOf(CONDITIONS, random), {
        sort: oneOf(SORTS, random),
        limit: oneOf([0, 1, 5, 20, 40], random),
        total: random() < 0.5,
      }),
  });
});

const CODED: Criteria = present('code');
answerEverywhere(
  'codes that are only a text come after the others',
  ['o0', 'o1', 'o2', 'o3', 'o4', 'o5']
    .map((id, n) =>
      resourceOf('Observation', id, { code: n % 2 === 0 ? { text: 'x' } : { coding: [{ code: `c${n}` }] } }),
    )
    .concat(resourceOf('Observation', 'none')),
  [undefined, 20].map((limit) => [
    queryOf('Observation', CODED, { sort: [by('code')], limit }),
    { ids: ['o1', 'o3', 'o5', 'o0', 'o2', 'o4'] },
  ]),
);

const IDS = Array.from({ length: 120 }, (_, index) => `o${String(index).padStart(3, '0')}`);
const BELOW = IDS.filter((id) => id < 'o090').reverse();
const BOTH = new Set(IDS.filter((_, index) => index % 3 === 0));
answerEverywhere(
  'a page of one code, sorted by it, leaves out resources with a larger code, too',
  IDS.map((id) =>
    resourceOf('Observation', id, {
      category: ['a', ...(BOTH.has(id) ? ['b'] : [])].map((code) => ({ coding: [{ code }] })),
    }),
  ),
  [true, false].map((descending) => [
    queryOf('Observation', undefined, {
      sort: [by('category', descending), by('_id', true)],
      limit: 10,
      after: { id: 'o090', values: ['a', 'o090'] },
    }),
    { ids: BELOW.filter((id) => !descending || !BOTH.has(id)).slice(0, 10) },
  ]),
);

const coded = (id: string, code: string, more: object = {}): AnyResource =>
  resourceOf('Observation', id, { status: 'final', code: { coding: [{ code }] }, ...more });
const idsOf = (code: string, count = 40): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${code}${String(index).padStart(2, '0')}`);

const AT_B = { id: 'b', values: ['b'] };
answerEverywhere(
  'a page that begins or ends at a code that was written since',
  [...idsOf('a').map((id) => coded(id, 'a')), ...idsOf('c').map((id) => coded(id, 'c'))],
  (
    [
      [false, { after: AT_B }, idsOf('c').slice(0, 3)],
      [true, { after: AT_B }, idsOf('a').slice(0, 3)],
      [false, { before: AT_B }, idsOf('a').slice(-3)],
      [true, { before: AT_B }, idsOf('c').slice(-3)],
    ] as const
  ).map(([descending, place, ids]) => [
    queryOf('Observation', not(match('status', 'amended')), { sort: [by('code', descending)], limit: 3, ...place }),
    { ids },
  ]),
  [coded('b', 'b')],
);

const SUBJECT = { subject: { reference: 'Patient/p' } };
answerEverywhere(
  'a value below those of all others, and one between them',
  [
    ...idsOf('m', 24).map((id) => coded(id, 'm', SUBJECT)),
    ...idsOf('p', 24).map((id, n) => coded(id, `p${n + 10}`, SUBJECT)),
  ],
  (
    [
      [true, ['m21', 'm22', 'm23', 'low']],
      [false, ['m21', 'm22', 'm23', 'between', 'p00']],
    ] as const
  ).map(([descending, ids]) => [
    queryOf('Observation', present('subject'), {
      sort: [by('code', descending)],
      limit: 5,
      after: { id: 'm20', values: ['m'] },
    }),
    { ids },
  ]),
  [coded('low', 'a', SUBJECT), coded('between', 'n', SUBJECT)],
);

answerEverywhere(
  'a condition that nearly all meet, except some later writes',
  idsOf('m', 48).map((id, n) => coded(id, `m${n + 10}`, SUBJECT)),
  [
    [
      queryOf('Observation', present('subject'), { sort: [by('code')], limit: 5 }),
      { ids: ['one', 'm00', 'm02', 'm03', 'm04'] },
    ],
  ],
  [coded('none', 'a'), coded('one', 'b', SUBJECT), coded('m01', 'm10'), coded('m03', 'm12', SUBJECT)],
);

answerEverywhere(
  'a parameter that no resource had when the index was built',
  correlatedObservations(200),
  [[queryOf('Observation', present('value-string'), { limit: 5, total: true }), { ids: ['noted'], total: 1 }]],
  [coded('noted', 'c1', { valueString: 'oil' })],
);

const BY_SUBJECT = Array.from({ length: 600 }, (_, index) => `o${index}`).toSorted((a, b) => {
  const target = (id: string): string => `p${(Number(id.slice(1)) * 7) % 600}`;
  return target(a) < target(b) ? -1 : 1;
});
answerEverywhere(
  'a page far into an order of references',
  Array.from({ length: 600 }, (_, index) =>
    resourceOf('Observation', `o${index}`, { subject: { reference: `Patient/p${(index * 7) % 600}` } }),
  ),
  [
    [
      queryOf('Observation', undefined, { sort: [by('subject')], offset: 60, limit: 5 }),
      { ids: BY_SUBJECT.slice(60, 65) },
    ],
  ],
);
