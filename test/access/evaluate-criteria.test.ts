import { beforeEach, describe, expect, test } from 'vitest';
import {
  answeredBy,
  evaluateCriteria,
  isLocal,
  NO_OVERLAY,
  overlaidWith,
  type Overlay,
  subjectOnUse,
} from '../../src/access/evaluate/evaluate-criteria.js';
import { WrittenResources } from '../../src/access/evaluate/written-resources.js';
import { type AnyResource, MemoryStore } from '../../src/index.js';
import { type Criteria, matches, R4 } from '../../src/store.js';
import { createRandom, putAll, randomResources } from '../support/kit.js';
import { ALL, and, NONE, not, or } from '../../src/search/criteria/criteria.js';
import { RandomQueries } from '../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../src/testing/reference-search.js';
import { countCalls, type CountingStore } from '../graphql/counting-store.js';
import { SEED } from '../support/chance.js';
import { storeWith } from '../support/store-with.js';

const token = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});
const [male, female, active] = [token('gender', 'male'), token('gender', 'female'), token('active', 'true')];
/** Of an Observation: its Patient is male. */
const ofMale: Extract<Criteria, { kind: 'chain' }> = { kind: 'chain', parameter: 'subject', type: 'Patient', of: male };
/** Of a Patient: a final Observation is about it. */
const hasFinal: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: token('status', 'final') };

const patient = (id: string, gender?: string): AnyResource =>
  ({ resourceType: 'Patient', id, active: true, gender }) as never;
const observation = (id: string, subject: string, status = 'final'): AnyResource =>
  ({ resourceType: 'Observation', id, status, subject: { reference: subject } }) as never;

const NOW = Date.UTC(2024, 4, 5);
let counting: CountingStore;

beforeEach(async () => {
  const store = new MemoryStore();
  const stored = [patient('boy', 'male'), patient('girl', 'female'), observation('about-girl', 'Patient/girl')];
  await store.commit(
    stored.map((resource) => ({
      kind: 'put',
      key: { project: 'clinic', type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
  counting = countCalls(store);
});

function holds(
  criteria: Criteria,
  resource: AnyResource,
  overlay: Overlay = NO_OVERLAY,
  project = 'clinic',
): Promise<boolean> {
  const scope = { model: R4, project, overlay, now: NOW };
  return answeredBy(counting.store, evaluateCriteria(criteria, subjectOnUse(resource, scope), scope));
}

/** A commit that writes these, over the stored resources if `stored` is given. */
function writing(
  ...written: readonly (readonly [type: string, id: string, AnyResource | null, stored: boolean])[]
): WrittenResources {
  return written.reduce((overlay, one) => overlay.with(...one), WrittenResources.none(R4, NOW));
}

describe('criteria about one resource', () => {
  test.each<[string, Criteria, boolean]>([
    ['all of several hold', and([male, active]), true],
    ['not all of several hold', and([active, female]), false],
    ['one of several holds', or([female, male]), true],
    ['none of several matches', or([female, token('active', 'false')]), false],
    ['a negation', not(female), true],
    ['a negation of what holds', not(male), false],
    ['everything', ALL, true],
    ['nothing', NONE, false],
    ['an id', { kind: 'id', ids: ['boy'] }, true],
    ['another id', { kind: 'id', ids: ['girl'] }, false],
  ])('%s: no store call', async (_, criteria, expected) => {
    expect(await holds(criteria, patient('boy', 'male'))).toBe(expected);
    expect(counting.takeCalls()).toEqual([]);
  });

  test('use the time of its version, or now if it has none yet', async () => {
    const before2020 = {
      kind: 'last-updated',
      test: { kind: 'date', prefix: 'lt', low: Date.UTC(2020), high: Date.UTC(2020) + 1 },
    } as const;
    const old = { ...patient('boy'), meta: { lastUpdated: '2019-05-05T00:00:00Z' } };
    expect(await holds(before2020, old)).toBe(true);
    expect(await holds(before2020, patient('boy'))).toBe(false);
    const today = { ...before2020, test: { ...before2020.test, prefix: 'eq', low: NOW, high: NOW + 1 } } as const;
    expect(await holds(today, patient('boy'))).toBe(true);
    const laid = overlaidWith(R4, writing(['Patient', 'boy', patient('boy'), true]), patient('girl'), NOW);
    expect(['boy', 'girl'].map((id) => laid.find('Patient', id)!.lastUpdated)).toEqual([NOW, NOW]);
  });
});

describe('a chain', () => {
  test('leads to stored resources of the project', async () => {
    expect(await holds(ofMale, observation('o', 'Patient/boy'))).toBe(true);
    expect(await holds(ofMale, observation('o', 'Patient/girl'))).toBe(false);
    expect(await holds(ofMale, observation('o', 'Patient/nobody'))).toBe(false);
    expect(await holds(ofMale, observation('o', 'Patient/boy'), NO_OVERLAY, 'other')).toBe(false);
    expect(counting.takeCalls()).toEqual(Array(4).fill('search Patient'));
  });

  test('is one of several conditions', async () => {
    const [boy, girl] = ['boy', 'girl'].map((id) => observation('o', `Patient/${id}`));
    const [final, draft] = [token('status', 'final'), token('status', 'draft')];
    for (const [criteria, ofBoy, ofGirl] of [
      [and([final, ofMale]), true, false],
      [and([draft, ofMale]), false, false],
      [or([draft, ofMale]), true, false],
      [or([final, ofMale]), true, true],
    ] as const) {
      expect([await holds(criteria, boy!), await holds(criteria, girl!)]).toEqual([ofBoy, ofGirl]);
    }
  });

  test.each(['Group/boy', 'https://x.example/Patient/boy', '#boy'])(
    'does not lead to %s, and calls no store',
    async (subject) => {
      expect(await holds(ofMale, observation('o', subject))).toBe(false);
      expect(await holds(ofMale, { resourceType: 'Observation' })).toBe(false);
      expect(counting.takeCalls()).toEqual([]);
    },
  );

  test('leads to resources that the commit writes, and not to the versions that these replace', async () => {
    const about = (id: string): AnyResource => observation('o', `Patient/${id}`);
    const overlay = writing(
      ['Patient', 'girl', patient('girl', 'male'), true],
      ['Patient', 'boy', patient('boy', 'female'), true],
      ['Patient', 'new', patient('new', 'male'), false],
    );
    expect(await holds(ofMale, about('girl'), overlay)).toBe(true);
    expect(await holds(ofMale, about('boy'), overlay)).toBe(false);
    expect(await holds(ofMale, about('new'), overlay)).toBe(true);
    expect(await holds(ofMale, about('boy'), writing(['Patient', 'boy', null, true]))).toBe(false);
    expect(counting.takeCalls()).toEqual([]);
  });

  test('with several references matches if one of them leads to a match, written or stored', async () => {
    const encounter = (...ids: string[]): AnyResource =>
      ({
        resourceType: 'Encounter',
        participant: ids.map((id) => ({ individual: { reference: `Practitioner/${id}` } })),
      }) as never;
    const store = new MemoryStore();
    const practitioner = (id: string, gender: string): AnyResource =>
      ({ resourceType: 'Practitioner', id, gender }) as never;
    for (const resource of [practitioner('he', 'male'), practitioner('she', 'female')]) {
      await store.commit([
        { kind: 'put', key: { project: 'clinic', type: 'Practitioner', id: resource.id! }, resource },
      ]);
    }
    counting = countCalls(store);
    const byMale: Criteria = { kind: 'chain', parameter: 'participant', type: 'Practitioner', of: male };
    const overlay = writing(
      ['Practitioner', 'it', practitioner('it', 'other'), false],
      ['Practitioner', 'him', practitioner('him', 'male'), false],
    );
    expect(await holds(byMale, encounter('it', 'she', 'he'), overlay)).toBe(true);
    expect(await holds(byMale, encounter('it', 'she'), overlay)).toBe(false);
    expect(counting.takeCalls()).toEqual(Array(2).fill('search Practitioner'));
    expect(await holds(byMale, encounter('it', 'him'), overlay)).toBe(true);
    expect(counting.takeCalls()).toEqual([]);
  });
});

test('asks the store for one match per question, with the options of the call', async () => {
  const options = { signal: new AbortController().signal };
  const asked: unknown[] = [];
  const store = new MemoryStore();
  const watched = storeWith(store, {
    search: (query, given) => (asked.push([query.limit, given]), store.search(query, given)),
  });
  const scope = { model: R4, project: 'clinic', overlay: NO_OVERLAY, now: NOW };
  const both = or([ofMale, not(ofMale)]);
  const subject = subjectOnUse(observation('o', 'Patient/boy'), scope);
  expect(await answeredBy(watched, evaluateCriteria(both, subject, scope), options)).toBe(true);
  expect(asked).toEqual(Array(2).fill([1, options]));
});

describe('a chain into a resource inside another', () => {
  /** An Observation about a Patient that it contains, with the id of a stored Patient. */
  const containing = (more: object = {}): AnyResource =>
    ({
      ...observation('o', '#girl'),
      contained: [{ resourceType: 'Patient', id: 'girl', gender: 'male', ...more }],
    }) as AnyResource;
  const named: Criteria = {
    kind: 'match',
    parameter: 'name',
    test: { kind: 'string', comparator: 'equals', text: 'parent' },
  };
  const partOf: Criteria = { kind: 'chain', parameter: 'partof', type: 'Organization', of: named };

  test('sees contained resources, and no reference to a stored resource of the same id', async () => {
    expect(await holds(ofMale, containing())).toBe(true);
    expect(await holds({ ...ofMale, reach: 'outside' }, containing())).toBe(false);
    expect(await holds({ ...ofMale, reach: 'inside' }, observation('o', 'Patient/boy'))).toBe(false);
    expect(await holds({ ...ofMale, of: hasFinal }, containing())).toBe(false);
    expect(counting.takeCalls()).toEqual([]);
  });

  test.each<[string, Criteria, boolean]>([
    ['a chain', partOf, false],
    ['one of several conditions', { kind: 'and', of: [ALL, partOf] }, false],
    ['one of several choices', { kind: 'or', of: [NONE, partOf] }, false],
    ['a negation', { kind: 'not', of: partOf }, true],
    ['a chain that may go inside only', { ...partOf, reach: 'inside' }, false],
  ])('enters no other resource from there, through %s', async (_, criteria, expected) => {
    const north = {
      resourceType: 'Organization',
      id: 'north',
      partOf: { reference: '#parent' },
      contained: [{ resourceType: 'Organization', id: 'parent', name: 'Parent' }],
    };
    const overlay = writing(['Organization', 'north', north, false]);
    const managingOrganization = { reference: 'Organization/north' };
    const ofOrganization: Criteria = { kind: 'chain', parameter: 'organization', type: 'Organization', of: criteria };
    const inside: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: ofOrganization };
    expect(await holds(inside, containing({ managingOrganization }), overlay)).toBe(expected);
    expect(await holds(ofOrganization, { resourceType: 'Patient', managingOrganization } as AnyResource, overlay)).toBe(
      !expected,
    );
  });

  test.each<[string, Criteria, boolean]>([
    ['a chain', partOf, true],
    ['all of several conditions', { kind: 'and', of: [ALL, partOf] }, true],
    ['a negation', { kind: 'not', of: partOf }, false],
    ['a chain that may go inside only', { ...partOf, reach: 'inside' }, false],
  ])('leads on to independent resources, through %s', async (_, criteria, expected) => {
    const north = { resourceType: 'Organization', id: 'north', partOf: { reference: 'Organization/parent' } };
    const overlay = writing(
      ['Organization', 'north', north, false],
      ['Organization', 'parent', { resourceType: 'Organization', id: 'parent', name: 'Parent' } as AnyResource, false],
    );
    const ofOrganization: Criteria = { kind: 'chain', parameter: 'organization', type: 'Organization', of: criteria };
    const inside: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: ofOrganization };
    const managingOrganization = { reference: 'Organization/north' };
    expect(await holds(inside, containing({ managingOrganization }), overlay)).toBe(expected);
  });
});

describe('a reverse chain', () => {
  test('leads to stored resources of the project', async () => {
    expect(await holds(hasFinal, patient('girl'))).toBe(true);
    expect(await holds(hasFinal, patient('boy'))).toBe(false);
    expect(await holds(hasFinal, patient('girl'), NO_OVERLAY, 'other')).toBe(false);
  });

  test('leads to resources that the commit writes, and not to the versions that these replace', async () => {
    const written = (resource: AnyResource, stored = false) => ['Observation', resource.id!, resource, stored] as const;
    expect(await holds(hasFinal, patient('boy'), writing(written(observation('o', 'Patient/boy'))))).toBe(true);
    expect(await holds(hasFinal, patient('boy'), writing(written(observation('o', 'Patient/boy', 'draft'))))).toBe(
      false,
    );
    expect(await holds(hasFinal, patient('boy'), writing(written(observation('o', 'Patient/she'))))).toBe(false);
    expect(await holds(hasFinal, patient('boy'), writing(written(observation('o', 'Group/boy'))))).toBe(false);
    expect(await holds(hasFinal, patient('boy'), writing(written({ resourceType: 'Observation', id: 'o' })))).toBe(
      false,
    );
    const performed: Criteria = { kind: 'has', type: 'Observation', parameter: 'performer', of: ALL };
    const performer = ['he', 'she'].map((id) => ({ reference: `Practitioner/${id}` }));
    const both = writing(written({ resourceType: 'Observation', id: 'o', performer } as AnyResource));
    expect(await holds(performed, { resourceType: 'Practitioner', id: 'she' }, both)).toBe(true);
    const moved = writing(written(observation('about-girl', 'Patient/boy'), true));
    expect(await holds(hasFinal, patient('boy'), moved)).toBe(true);
    expect(await holds(hasFinal, patient('girl'), moved)).toBe(false);
    expect(await holds(hasFinal, patient('girl'), writing(['Observation', 'about-girl', null, true]))).toBe(false);
    expect(await holds(hasFinal, patient('girl'), writing(['Patient', 'about-girl', null, true]))).toBe(true);
  });
});

test.each<[string, Criteria, boolean]>([
  ['a match', male, true],
  ['matches joined', and([male, or([active, female]), not(active)]), true],
  ['a chain', ofMale, false],
  ['a reverse chain', hasFinal, false],
  ['a chain in a choice', or([male, ofMale]), false],
  ['a chain in a negation in a conjunction', and([male, not(hasFinal)]), false],
])('%s is decided from the resource alone: %#', (_, criteria, expected) => {
  expect(isLocal(criteria)).toBe(expected);
});

describe('the resources that a commit writes', () => {
  const ids = (overlay: Overlay, type: string): string[] => [...overlay.subjects(type)].map(({ id }) => id);

  test('are found by type and id', () => {
    const overlay = writing(
      ['Patient', 'boy', patient('boy', 'male'), true],
      ['Patient', 'girl', null, true],
      ['Group', 'boy', { resourceType: 'Group', id: 'boy' }, false],
    );
    expect(overlay.get('Patient', 'boy')).toEqual(patient('boy', 'male'));
    expect([overlay.get('Patient', 'girl'), overlay.find('Patient', 'girl')]).toEqual([null, null]);
    expect([overlay.get('Patient', 'x'), overlay.find('Device', 'boy')]).toEqual([undefined, undefined]);
    expect(overlay.find('Patient', 'boy')).toMatchObject({ type: 'Patient', id: 'boy' });
    expect(overlay.find('Patient', 'boy')).toBe(overlay.find('Patient', 'boy'));
    expect([ids(overlay, 'Patient'), ids(overlay, 'Group'), ids(overlay, 'Device')]).toEqual([['boy'], ['boy'], []]);
  });

  test('replace stored resources, once for each resource', () => {
    const overlay = writing(
      ['Patient', 'boy', patient('boy'), true],
      ['Patient', 'boy', patient('boy', 'male'), true],
      ['Patient', 'girl', null, true],
      ['Patient', 'new', patient('new'), false],
    );
    expect(overlay.replaced('Patient')).toEqual(['boy', 'girl']);
    expect(overlay.replaced('Group')).toEqual([]);
    expect(overlay.get('Patient', 'boy')).toEqual(patient('boy', 'male'));
    expect(overlay.find('Patient', 'boy')!.entries.has('gender')).toBe(true);
  });

  test('are empty until something is written, and include deletions', () => {
    expect(writing().isEmpty).toBe(true);
    expect(writing(['Patient', 'boy', null, false]).isEmpty).toBe(false);
  });

  test('are unchanged except for one resource laid over them', () => {
    const below = writing(
      ['Patient', 'boy', patient('boy'), true],
      ['Patient', 'new', patient('new'), false],
      ['Group', 'boy', null, true],
    );
    const overlay = overlaidWith(R4, below, patient('boy', 'male'), NOW);
    expect(overlay.find('Patient', 'boy')!.entries.has('gender')).toBe(true);
    expect(overlay.find('Patient', 'new')).toBe(below.find('Patient', 'new'));
    expect(overlay.find('Group', 'boy')).toBeNull();
    expect(ids(overlay, 'Patient')).toEqual(['new', 'boy']);
    expect([...overlay.subjects('Patient')][1]).toBe(overlay.find('Patient', 'boy'));
    expect(ids(overlay, 'Group')).toEqual([]);
    expect(overlay.replaced('Patient')).toEqual(['boy', 'boy']);
    expect(overlay.replaced('Group')).toEqual(['boy']);
    const group = overlaidWith(
      R4,
      writing(['Patient', 'g', patient('g'), false]),
      { resourceType: 'Group', id: 'g' },
      NOW,
    );
    expect([ids(group, 'Patient'), ids(group, 'Group'), group.replaced('Group')]).toEqual([['g'], ['g'], ['g']]);
  });

  test('a resource without an id can be laid over it', () => {
    const overlay = overlaidWith(R4, NO_OVERLAY, { resourceType: 'Patient' }, NOW);
    expect(overlay.find('Patient', '')).toMatchObject({ type: 'Patient', id: '' });
    expect([overlay.find('Patient', 'boy'), ids(overlay, 'Patient'), overlay.replaced('Patient')]).toEqual([
      undefined,
      [''],
      [''],
    ]);
  });
});

describe('criteria decided before a write', () => {
  test('lead into contained resources, and out of them to stored resources', async () => {
    const inside = {
      resourceType: 'Observation',
      contained: [
        { resourceType: 'Patient', id: 'p', gender: 'male', link: [{ other: { reference: 'Patient/girl' } }] },
      ],
      subject: { reference: '#p' },
    } as never;
    const linked = (of: Criteria): Criteria => ({ kind: 'chain', parameter: 'link', type: 'Patient', of });
    const subject = (of: Criteria, reach = {}): Criteria => ({ ...ofMale, ...reach, of });
    expect(await holds(ofMale, inside)).toBe(true);
    expect(await holds(subject(female), inside)).toBe(false);
    expect(await holds(subject(linked(female)), inside)).toBe(true);
    expect(await holds(subject(linked(male)), inside)).toBe(false);
    expect(await holds(subject(male, { reach: 'outside' }), inside)).toBe(false);
    expect(await holds(subject(male, { reach: 'inside' }), inside)).toBe(true);
    expect(await holds(subject(male, { reach: 'inside' }), observation('o', 'Patient/boy'))).toBe(false);
    expect(await holds(subject(hasFinal), inside)).toBe(false);
  });

  test('have the same meaning as in a search, also for contained resources', async () => {
    const random = createRandom(SEED);
    const store = new MemoryStore();
    const written = await putAll(store, ...randomResources(random));
    const resources = written.flatMap((result) => (result.kind === 'put' ? [result.resource] : []));
    const reference = new ReferenceSearch(R4, resources);
    const queries = new RandomQueries('clinic', reference, random);
    const decided = (criteria: Criteria, resource: AnyResource): Promise<boolean> => {
      const scope = { model: R4, project: 'clinic', overlay: NO_OVERLAY, now: NOW };
      return answeredBy(store, evaluateCriteria(criteria, subjectOnUse(resource, scope), scope));
    };
    for (let run = 0; run < 60; run++) {
      const { type, criteria } = queries.search();
      for (const resource of resources.filter(({ resourceType }) => resourceType === type)) {
        const expected = matches(criteria, reference.find(type, resource.id!)!, reference);
        const told = `seed ${SEED}: ${JSON.stringify(criteria)} of ${type}/${resource.id!}`;
        expect([told, await decided(criteria, resource)]).toEqual([told, expected]);
      }
    }
  });
});

test('a caller who can see everything costs no evaluation of the resource', () => {
  const unread = new Proxy(patient('p'), {
    get: () => {
      throw new Error('The resource was looked at');
    },
  });
  const scope = { model: R4, project: 'p', overlay: NO_OVERLAY, now: NOW };
  expect(evaluateCriteria(ALL, subjectOnUse(unread, scope), scope).next()).toStrictEqual({ done: true, value: true });
});
