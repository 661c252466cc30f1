import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, SearchQuery, ValueTest } from '../../../src/store.js';
import { below, oneOf, PROJECT, queryOf, resourceOf } from '../../support/kit.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { by, match } from '../queries.js';
import { answerEverywhere, askEverywhere, OWN } from './ask-everywhere.js';

/** What references begin with: some are absolute, of the store and of another server. */
const BASES = [...Array.from({ length: 16 }, () => ''), `${OWN}/`, `${OWN}/`, 'https://other.example/fhir/'];

/** Three types that refer to each other: by several references, absolute references, to other types, to missing resources. */
function linkedResources(count: number, random: () => number): AnyResource[] {
  const ref = (type: string, most: number): { reference: string } => ({
    reference: `${oneOf(BASES, random)}${type}/${type[0]!.toLowerCase()}${below(most, random)}`,
  });
  const some = <Value>(share: number, value: () => Value): Value | undefined =>
    random() < share ? value() : undefined;
  return Array.from({ length: count }, (_, index) => [
    {
      resourceType: 'Observation',
      id: `o${index}`,
      status: oneOf(['final', 'final', 'final', 'amended'], random),
      code: { coding: [{ code: `c${below(5, random)}` }] },
      subject: random() < 0.9 ? ref(random() < 0.1 ? 'Group' : 'Patient', 1 + below(45, random)) : undefined,
      encounter: some(0.7, () => ref('Encounter', 50)),
      performer: some(0.7, () => Array.from({ length: 1 + below(3, random) }, () => ref('Practitioner', 6))),
      valueQuantity: some(0.5, () => ({ value: below(20, random), ...oneOf(UNITS, random) })),
    },
    ...(index % 3 === 0
      ? [
          {
            resourceType: 'Encounter',
            id: `e${index / 3}`,
            status: 'finished',
            class: { code: oneOf(['AMB', 'AMB', 'IMP'], random) },
            subject: ref('Patient', 45),
          },
          {
            resourceType: 'Patient',
            id: `p${index / 3}`,
            gender: oneOf(['female', 'male'], random),
            generalPractitioner: some(0.6, () => [ref('Practitioner', 6)]),
          },
        ]
      : []),
  ]).flat();
}

const UNITS: readonly object[] = [
  {},
  { unit: 'mg' },
  { system: 'http://unitsofmeasure.org', code: 'mg' },
  { system: 'http://unitsofmeasure.org', code: 'g', unit: 'mg' },
];

const has = (type: string, parameter: string, of: Criteria): Criteria => ({ kind: 'has', type, parameter, of });
const ofSubject = (of: Criteria): Criteria => ({ kind: 'chain', parameter: 'subject', type: 'Patient', of });
const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
const or = (...of: readonly Criteria[]): Criteria => ({ kind: 'or', of });

const above: ValueTest = { kind: 'quantity', prefix: 'gt', low: 12, high: 12 };
const CODE_ABOVE: Criteria = {
  kind: 'composite',
  parameter: 'code-value-quantity',
  tests: [{ kind: 'token', code: 'c1' }, above],
};
const FINAL = has('Observation', 'encounter', match('status', 'final'));
const AMENDED = has('Observation', 'encounter', match('status', 'amended'));
const FEMALE = match('gender', 'female');

/** Conditions on the other end of references, of each type. */
const CONDITIONS: readonly (readonly [type: string, criteria: Criteria])[] = [
  ['Encounter', FINAL],
  ['Encounter', or(FINAL, has('Observation', 'part-of', match('status', 'final')))],
  ['Encounter', or(and(AMENDED, match('class', 'AMB')), not(FINAL))],
  // Equal parts of alternatives, as those of the rules of a policy.
  ['Encounter', or(and(match('status', 'finished'), AMENDED), and(match('class', 'AMB'), { ...AMENDED }))],
  ['Observation', ofSubject(FEMALE)],
  ['Observation', { kind: 'chain', parameter: 'subject', type: 'Patient', of: FEMALE, reach: 'outside' }],
  ['Observation', and(ofSubject(not(FEMALE)), match('status', 'amended'))],
  ['Observation', CODE_ABOVE],
  ['Observation', { kind: 'match', parameter: 'value-quantity', test: { ...above, code: 'mg' } }],
  ['Patient', has('Observation', 'subject', match('status', 'final'))],
  ['Patient', or(has('Observation', 'subject', match('status', 'amended')), not(FEMALE))],
  ['Patient', and(FEMALE, has('Observation', 'subject', match('status', 'final')))],
  ['Patient', not(has('Encounter', 'subject', match('class', 'IMP')))],
  ['Patient', has('Observation', 'subject', { kind: 'missing', parameter: 'date', missing: true })],
  ['Patient', has('Observation', 'subject', CODE_ABOVE)],
  ['Patient', has('Encounter', 'subject', { kind: 'missing', parameter: 'reason-code', missing: false })],
];

describe('conditions on other resources', () => {
  askEverywhere({
    make: linkedResources,
    count: 120,
    ask: (random): SearchQuery => {
      const [type, criteria] = oneOf(CONDITIONS, random);
      const keys = type === 'Patient' ? ['_id', 'gender', 'general-practitioner'] : ['_id', 'status', 'subject'];
      const sort = random() < 0.3 ? undefined : [by(oneOf(keys, random), random() < 0.5)];
      const limit = oneOf([0, 5, 200], random);
      return queryOf(type, criteria, { sort, limit, total: true });
    },
    also: async (store, current, random, runs) => {
      await assertSearches(store, PROJECT, current, random, runs);
    },
  });
});

answerEverywhere(
  'a resource within another one meets the condition of a chain',
  linkedResources(150, () => 0.5).filter(({ resourceType }) => resourceType === 'Observation'),
  [
    [
      queryOf('Observation', ofSubject(match('gender', 'male')), { limit: 5, total: true }),
      { ids: ['inside'], total: 1 },
    ],
  ],
  [
    resourceOf('Observation', 'inside', {
      status: 'final',
      contained: [{ resourceType: 'Patient', id: 'p', gender: 'male' }],
      subject: { reference: '#p' },
    }),
  ],
);

const ENCOUNTERS = 200;
answerEverywhere(
  'an order by a reference that few resources have',
  [
    ...Array.from({ length: ENCOUNTERS }, (_, index) =>
      resourceOf('Encounter', `e${index}`, {
        status: index % 2 === 0 ? 'finished' : 'planned',
        appointment: index < 12 ? [{ reference: `Appointment/a${index % 5}` }] : undefined,
      }),
    ),
    ...Array.from({ length: 600 }, (_, index) =>
      resourceOf('Observation', `o${index}`, {
        status: index % 3 === 0 ? 'final' : 'amended',
        encounter: { reference: `Encounter/e${(index * 7) % (ENCOUNTERS / 2)}` },
      }),
    ),
  ],
  [
    [
      queryOf('Encounter', FINAL, { sort: [by('appointment', true)], limit: 5, total: true }),
      { ids: ['e4', 'e9', 'e3', 'e8', 'e2'], total: 100 },
    ],
    [queryOf('Encounter', FINAL, { sort: [by('_id', true)], limit: 3 }), { ids: ['e99', 'e98', 'e97'] }],
  ],
);
