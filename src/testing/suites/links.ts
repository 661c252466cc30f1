import assert from 'node:assert/strict';
import type { AnyResource } from '../../fhir/resource.js';
import { ALL, type Criteria } from '../../search/criteria/criteria.js';
import type { ValueTest } from '../../search/criteria/value-test.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { ResourceStore } from '../../store/store.js';
import { type ConformanceSuite, idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
const FINAL: Criteria = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } };

/** Observations by their ids, and who they are about. */
const COMPOSED: { readonly [id: string]: { readonly subject: string; readonly [element: string]: unknown } } = {
  concept: { subject: 'p', valueCodeableConcept: { coding: [{ code: 'b' }] } },
  date: { subject: 'q', valueDateTime: '2020-02-29' },
  group: { subject: 'p', component: [{ code: { coding: [{ code: 'a' }] }, valueQuantity: { value: 9 } }] },
  quantity: { subject: 'q', valueQuantity: { value: 9 } },
  sampled: { subject: 'p', valueSampledData: { origin: { value: 9 }, period: 1, dimensions: 1, data: '1' } },
  string: { subject: 'p', valueString: 'low' },
};

const composite = (parameter: string, value: ValueTest): Criteria => ({
  kind: 'composite',
  parameter,
  tests: [{ kind: 'token', code: 'a' }, value],
});
const ABOVE: ValueTest = { kind: 'quantity', prefix: 'gt', low: 8, high: 8 };

/** A composite for each of some Observations that only that one meets. */
const COMPOSITES: { readonly [id: string]: Criteria } = {
  concept: composite('code-value-concept', { kind: 'token', code: 'b' }),
  date: composite('code-value-date', { kind: 'date', prefix: 'ge', low: Date.UTC(2020, 1), high: Date.UTC(2020, 2) }),
  group: composite('component-code-value-quantity', ABOVE),
  quantity: composite('code-value-quantity', ABOVE),
  string: composite('code-value-string', { kind: 'string', comparator: 'equals', text: 'low' }),
};

/** Chains, `_has` and `searchByReference`. */
export const linkSuite: ConformanceSuite = {
  name: 'links',
  cases: [
    {
      name: 'chain: something pointed to matches',
      async run(store) {
        await linked(store);
        const chain = (of: Criteria): Criteria => ({ kind: 'chain', parameter: 'subject', type: 'Patient', of });
        assert.deepEqual(await idsOf(store, queryOf('Observation', chain(MALE))), ['a1', 'a2']);
        assert.deepEqual(await idsOf(store, queryOf('Observation', chain(ALL))), ['a1', 'a2', 'b1']);
        assert.deepEqual(await idsOf(store, queryOf('Observation', { kind: 'not', of: chain(MALE) })), [
          'b1',
          'd1',
          'g1',
          'x1',
        ]);
        const deep: Criteria = chain({
          kind: 'chain',
          parameter: 'organization',
          type: 'Organization',
          of: { kind: 'id', ids: ['o'] },
        });
        assert.deepEqual(await idsOf(store, queryOf('Observation', deep)), ['a1', 'a2']);
        assert.deepEqual(await idsOf(store, queryOf('Observation', { kind: 'and', of: [deep, FINAL] })), ['a1']);
      },
    },
    {
      name: 'has: something that points here matches',
      async run(store) {
        await linked(store);
        const has = (of: Criteria): Criteria => ({ kind: 'has', type: 'Observation', parameter: 'subject', of });
        assert.deepEqual(await idsOf(store, queryOf('Patient', has(FINAL))), ['a', 'b']);
        assert.deepEqual(await idsOf(store, queryOf('Patient', has(ALL))), ['a', 'b']);
        assert.deepEqual(await idsOf(store, queryOf('Patient', { kind: 'not', of: has(FINAL) })), ['c']);
        assert.deepEqual(await idsOf(store, queryOf('Patient', { kind: 'and', of: [has(FINAL), MALE] })), ['a']);
        const nested: Criteria = { kind: 'has', type: 'Patient', parameter: 'organization', of: has(FINAL) };
        assert.deepEqual(await idsOf(store, queryOf('Organization', nested)), ['o']);
      },
    },
    {
      name: 'a composite of what is linked finds as it does there, in chains, `_has` and their negation',
      async run(store) {
        await putAll(
          store,
          ...['p', 'q'].map((id) => resourceOf('Patient', id)),
          ...Object.entries(COMPOSED).map(([id, { subject, ...value }]) =>
            resourceOf('Observation', id, {
              code: { coding: [{ code: 'a' }] },
              subject: { reference: `Patient/${subject}` },
              ...value,
            }),
          ),
          ...Object.keys(COMPOSED).map((id) =>
            resourceOf('Observation', `of-${id}`, { hasMember: [{ reference: `Observation/${id}` }] }),
          ),
        );
        for (const [id, composite] of Object.entries(COMPOSITES)) {
          const ask = async (type: string, criteria: Criteria): Promise<unknown> => {
            const { matches, total } = await store.search(queryOf(type, criteria, { limit: 10, total: true }));
            assert.equal(total, matches.length, JSON.stringify(criteria));
            return matches.map(({ resource }) => resource.id);
          };
          const has: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: composite };
          const chain: Criteria = { kind: 'chain', parameter: 'has-member', type: 'Observation', of: composite };
          const members: Criteria = { kind: 'missing', parameter: 'has-member', missing: false };
          assert.deepEqual(await ask('Observation', composite), [id]);
          assert.deepEqual(await ask('Patient', has), [COMPOSED[id]!.subject], id);
          assert.deepEqual(
            await ask('Patient', { kind: 'not', of: has }),
            [COMPOSED[id]!.subject === 'p' ? 'q' : 'p'],
            id,
          );
          assert.deepEqual(await ask('Observation', chain), [`of-${id}`], id);
          const others: Criteria = { kind: 'and', of: [members, { kind: 'not', of: chain }] };
          const expected = Object.keys(COMPOSED)
            .filter((one) => one !== id)
            .map((one) => `of-${one}`);
          assert.deepEqual(await ask('Observation', others), expected.toSorted(), id);
        }
      },
    },
    {
      name: 'gives one page per target, in order, repeated and unknown ones included',
      async run(store) {
        await linked(store);
        const targets = ['b', 'a', 'nobody', 'b', 'c'].map((id) => ({ type: 'Patient', id }));
        const pages = await store.searchByReference(queryOf('Observation'), 'subject', targets);
        assert.deepEqual(pages.map(idsOfPage), [['b1'], ['a1', 'a2'], [], ['b1'], []]);
        assert.ok(pages.every(({ total }) => total === undefined));
        assert.deepEqual(await store.searchByReference(queryOf('Observation'), 'subject', []), []);
      },
    },
    {
      name: 'a search by reference returns as many resources as it may, and returns or refuses more',
      async run(store) {
        await linked(store);
        const targets = ['b', 'a', 'nobody'].map((id) => ({ type: 'Patient', id }));
        const ask = (maxResources: number): Promise<unknown> =>
          store
            .searchByReference(queryOf('Observation', ALL, { total: true }), 'subject', targets, { maxResources })
            .then(
              (pages) => pages.map(idsOfPage),
              ({ code }: { readonly code: string }) => code,
            );
        const all = [['b1'], ['a1', 'a2'], []];
        assert.deepEqual(await ask(Infinity), all);
        assert.deepEqual(await ask(3), all);
        const more = await ask(2);
        if (more !== 'too-costly') assert.deepEqual(more, all);
      },
    },
    {
      name: 'distinguishes targets with one id but several types, deleted and never written ones included',
      async run(store) {
        await linked(store);
        const targets = ['Group', 'Patient', 'Device'].map((type) => ({ type, id: 'd' }));
        const pages = await store.searchByReference(queryOf('Observation'), 'subject', targets);
        assert.deepEqual(pages.map(idsOfPage), [['g1'], ['d1'], []]);
      },
    },
    {
      name: 'applies criteria, sort, page and total to each target by itself',
      async run(store) {
        const observations = Array.from({ length: 12 }, (_, n) =>
          resourceOf('Observation', `o${String(n).padStart(2, '0')}`, {
            status: n % 3 === 0 ? 'amended' : 'final',
            subject: { reference: `Patient/${n % 2}` },
            effectiveDateTime: `2020-01-${String(12 - n).padStart(2, '0')}`,
          }),
        );
        await putAll(store, ...observations);
        const query = (page: Partial<SearchQuery>): SearchQuery => queryOf('Observation', FINAL, page);
        const targets = [
          { type: 'Patient', id: '0' },
          { type: 'Patient', id: '1' },
          { type: 'Patient', id: '2' },
        ];
        const sort = [{ parameter: 'date', descending: false }];
        const first = await store.searchByReference(query({ sort, limit: 2, total: true }), 'subject', targets);
        assert.deepEqual(first.map(idsOfPage), [['o10', 'o08'], ['o11', 'o07'], []]);
        assert.deepEqual(
          first.map(({ total }) => total),
          [4, 4, 0],
        );
        const second = await store.searchByReference(
          query({ sort, limit: 2, offset: 3, total: true }),
          'subject',
          targets,
        );
        assert.deepEqual(second.map(idsOfPage), [['o02'], ['o01'], []]);
        assert.deepEqual(
          second.map(({ total }) => total),
          [4, 4, 0],
        );
        const all = await store.searchByReference(query({ total: true }), 'subject', targets);
        assert.deepEqual(all.map(idsOfPage), [['o02', 'o04', 'o08', 'o10'], ['o01', 'o05', 'o07', 'o11'], []]);
        assert.deepEqual(
          all.map(({ total }) => total),
          [4, 4, 0],
        );
        const count = await store.searchByReference(query({ limit: 0, total: true }), 'subject', targets);
        assert.deepEqual(count, [
          { matches: [], total: 4 },
          { matches: [], total: 4 },
          { matches: [], total: 0 },
        ]);
      },
    },
    {
      name: 'gives a resource that points to several targets, or twice to one, once to each',
      async run(store) {
        const member = (reference: string): object => ({ entity: { reference } });
        await putAll(
          store,
          resourceOf('Group', 'g', {
            member: [member('Patient/a'), member('Patient/a'), member('Patient/b'), member('Patient/a/_history/1')],
          }),
        );
        const targets = [
          { type: 'Patient', id: 'a' },
          { type: 'Patient', id: 'b' },
        ];
        const pages = await store.searchByReference(queryOf('Group', ALL, { total: true }), 'member', targets);
        assert.deepEqual(
          pages.map((page) => [idsOfPage(page), page.total]),
          [
            [['g'], 1],
            [['g'], 1],
          ],
        );
      },
    },
    {
      name: 'follows references no further than the project',
      async run(store) {
        await linked(store);
        const other = resourceOf('Observation', 'z', { status: 'final', subject: { reference: 'Patient/a' } });
        await store.commit([put(other, {}, 'elsewhere')]);
        const query = {
          ...queryOf('Observation', { kind: 'chain', parameter: 'subject', type: 'Patient', of: ALL }),
          project: 'elsewhere',
        };
        assert.deepEqual(await idsOf(store, query), []);
        const [page] = await store.searchByReference({ ...queryOf('Observation'), project: 'elsewhere' }, 'subject', [
          { type: 'Patient', id: 'a' },
        ]);
        assert.deepEqual(
          page?.matches.map(({ resource }) => resource.id),
          ['z'],
        );
        const [own] = await store.searchByReference(queryOf('Observation'), 'subject', [{ type: 'Patient', id: 'a' }]);
        assert.deepEqual(own && idsOfPage(own), ['a1', 'a2']);
      },
    },
    {
      name: 'finds what points to a resource that comes later',
      async run(store) {
        await putAll(
          store,
          resourceOf('Observation', 'o', { status: 'final', subject: { reference: 'Patient/late' } }),
        );
        const has: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: FINAL };
        assert.deepEqual(await idsOf(store, queryOf('Patient', has)), []);
        await putAll(store, resourceOf('Patient', 'late'));
        assert.deepEqual(await idsOf(store, queryOf('Patient', has)), ['late']);
      },
    },
    {
      name: 'takes a reference below its base URL for the relative one, if it has a base URL',
      async run(store) {
        const { baseUrl } = store.model;
        const base = baseUrl ?? 'https://own.base/fhir';
        await linked(store);
        await putAll(
          store,
          ...[`${base}/Patient/a`, `${base}/Patient/a/_history/1`, `${base}s/Patient/a`].map((reference, index) =>
            resourceOf('Observation', `own${index}`, { status: 'final', subject: { reference } }),
          ),
        );
        const own = baseUrl === undefined ? [] : ['own0', 'own1'];
        const [page] = await store.searchByReference(queryOf('Observation'), 'subject', [{ type: 'Patient', id: 'a' }]);
        assert.deepEqual(page && idsOfPage(page), ['a1', 'a2', ...own]);
        const test: ValueTest = { kind: 'reference', types: ['Patient'], id: 'a' };
        const about: Criteria = { kind: 'match', parameter: 'subject', test };
        assert.deepEqual(await idsOf(store, queryOf('Observation', about)), ['a1', 'a2', ...own]);
        const ofMale: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: MALE };
        assert.deepEqual(await idsOf(store, queryOf('Observation', ofMale)), ['a1', 'a2', ...own]);
      },
    },
    {
      name: 'forgets a reference with the version that made it',
      async run(store) {
        await linked(store);
        await putAll(store, resourceOf('Observation', 'a1', { status: 'final', subject: { reference: 'Patient/c' } }));
        const pages = await store.searchByReference(
          queryOf('Observation'),
          'subject',
          ['a', 'c'].map((id) => ({ type: 'Patient', id })),
        );
        assert.deepEqual(pages.map(idsOfPage), [['a2'], ['a1']]);
      },
    },
  ],
};

/** Three patients and a deleted one, an organization, and observations of them, of a group and of external subjects. */
async function linked(store: ResourceStore): Promise<void> {
  const about = (id: string, reference: string, status = 'final'): AnyResource =>
    resourceOf('Observation', id, { status, subject: { reference } });
  await putAll(
    store,
    resourceOf('Organization', 'o'),
    resourceOf('Patient', 'a', { gender: 'male', managingOrganization: { reference: 'Organization/o' } }),
    resourceOf('Patient', 'b', { gender: 'female' }),
    resourceOf('Patient', 'c', { gender: 'male' }),
    resourceOf('Patient', 'd', { gender: 'male' }),
    about('a1', 'Patient/a'),
    about('a2', 'Patient/a', 'amended'),
    about('b1', 'Patient/b'),
    about('d1', 'Patient/d'),
    about('g1', 'Group/d'),
    about('x1', 'http://elsewhere/Patient/a'),
  );
  await store.commit([{ kind: 'delete', key: keyOf('Patient', 'd') }]);
}

function idsOfPage({
  matches,
}: {
  readonly matches: readonly { readonly resource: AnyResource }[];
}): readonly unknown[] {
  return matches.map(({ resource }) => resource.id);
}
