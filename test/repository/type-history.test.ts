import type { AccessPolicy, Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryStore, type Repository } from '../../src/index.js';
import type { Write } from '../../src/store.js';
import { put, resourceOf } from '../support/kit.js';
import { cases } from '../support/chance.js';
import { storeWith } from '../support/store-with.js';
import { codeOf, faultOf, member, overStores, system } from './harness.js';

const BASE = 'https://clinic.example/fhir/R4';

/** Follows the links from a page to the last. */
async function follow(repository: Repository, first: Bundle): Promise<NonNullable<Bundle['entry']>> {
  const entries = [...(first.entry ?? [])];
  for (let page = first; ;) {
    const next = page.link?.find(({ relation }) => relation === 'next');
    if (next === undefined) return entries;
    const parameters = new URL(next.url, 'http://x').searchParams;
    page = await repository.typeHistory('Patient', {
      count: Number(parameters.get('_count')),
      since: parameters.get('_since') ?? undefined,
      cursor: parameters.get('_cursor')!,
    });
    entries.push(...(page.entry ?? []));
  }
}

overStores('the history of a type', (open) => {
  test('has every version of every resource with its interaction, newest first', async () => {
    const repository = await system(open(), 'clinic', { baseUrl: BASE });
    await repository.update({ resourceType: 'Patient', id: 'a', active: true });
    await repository.update({ resourceType: 'Patient', id: 'b' });
    await repository.update({ resourceType: 'Patient', id: 'a', active: false });
    await repository.delete('Patient', 'b');
    const last = await repository.update({ resourceType: 'Patient', id: 'b', active: true });
    const history = await repository.typeHistory('Patient');
    expect(history).toMatchObject({ resourceType: 'Bundle', type: 'history' });
    expect(history).not.toHaveProperty('total');
    expect(history.link).toEqual([{ relation: 'self', url: `${BASE}/Patient/_history?_count=20` }]);
    const told = (entry: NonNullable<Bundle['entry']>[number]): unknown[] => [
      entry.request?.method,
      entry.request?.url,
      entry.response?.status,
      entry.response?.etag,
      entry.fullUrl?.slice(BASE.length),
    ];
    // The store decides the order of resources of one instant.
    expect(history.entry!.filter(({ fullUrl }) => fullUrl === `${BASE}/Patient/a`).map(told)).toEqual([
      ['PUT', 'Patient/a', '200 OK', 'W/"2"', '/Patient/a'],
      ['POST', 'Patient', '201 Created', 'W/"1"', '/Patient/a'],
    ]);
    const ofB = history.entry!.filter(({ fullUrl }) => fullUrl === `${BASE}/Patient/b`);
    expect(ofB.map(told)).toEqual([
      ['POST', 'Patient', '201 Created', 'W/"3"', '/Patient/b'],
      ['DELETE', 'Patient/b', '204 No Content', 'W/"2"', '/Patient/b'],
      ['POST', 'Patient', '201 Created', 'W/"1"', '/Patient/b'],
    ]);
    expect(history.entry).toHaveLength(5);
    expect(ofB[0]).toMatchObject({ resource: last, response: { lastModified: last.meta.lastUpdated } });
    expect(ofB[1]).not.toHaveProperty('resource');
  });

  test('comes in pages that later writes do not shift', async () => {
    const store = open();
    const repository = await system(store);
    await store.commit(Array.from({ length: 50 }, (_, index) => put(resourceOf('Patient', `p${index}`), {}, 'clinic')));
    const whole = await repository.typeHistory('Patient', { count: 100 });
    const first = await repository.typeHistory('Patient', { count: 7 });
    await repository.create({ resourceType: 'Patient' });
    await repository.delete('Patient', 'p49');
    expect(await follow(repository, first)).toEqual(whole.entry);
    expect(await codeOf(repository.typeHistory('Patient', { count: 1001 }))).toBe('too-costly');
    expect(await codeOf(repository.typeHistory('Patient', { since: 'yesterday' }))).toBe('invalid');
    for (const cursor of [
      '',
      'x',
      '2021-01-01/a/1',
      '2021-02-31T00:00:00.000Z/a/1',
      '2021-01-01T00:00:00.000Z/a b/1',
    ]) {
      expect(await codeOf(repository.typeHistory('Patient', { cursor }))).toBe('invalid');
    }
    expect(await codeOf(repository.typeHistory('Nothing' as never))).toBe('not-found');
  });
});

test('begins with `since`, and names it in its links', async () => {
  let now = Date.parse('2030-01-01T00:00:00.000Z');
  const store = new MemoryStore({ clock: () => new Date((now += 60_000)) });
  const repository = await system(store);
  for (const id of ['a', 'b', 'c', 'd']) await repository.update({ resourceType: 'Patient', id });
  const { lastUpdated } = (await repository.read('Patient', 'b')).meta;
  const page = await repository.typeHistory('Patient', { since: lastUpdated, count: 2 });
  expect(page.entry?.map(({ resource }) => resource?.id)).toEqual(['d', 'c']);
  expect((await follow(repository, page)).map(({ resource }) => resource?.id)).toEqual(['d', 'c', 'b']);
  expect((await repository.typeHistory('Patient', { since: '2030' })).entry).toHaveLength(4);
  expect(await repository.typeHistory('Patient', { since: '2031' })).not.toHaveProperty('entry');
});

test('over a store without type history is unsupported, for any caller', async () => {
  const whole = new MemoryStore();
  const repository = await system(whole);
  const limited = storeWith(whole, {});
  const fault = await faultOf((await system(limited)).typeHistory('Patient'));
  expect([fault.code, fault.message]).toEqual([
    'unsupported',
    'The store of this service does not list the history of a type',
  ]);
  expect((await repository.typeHistory('Patient')).type).toBe('history');
  const nobody = await member(limited, { rules: [{ resourceType: 'Device' }] });
  expect(await codeOf(nobody.typeHistory('Patient'))).toBe('unsupported');
});

const FEMALE = [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }];

test('neither answers nor store calls of a member depend on hidden resources', async () => {
  const answers = [];
  for (const hidden of [0, 400]) {
    let now = Date.parse('2030-01-01T00:00:00.000Z');
    const store = new MemoryStore({ clock: () => new Date((now += 1000)) });
    await system(store);
    const calls: string[] = [];
    const counted = storeWith(store, {
      read: (...call) => (calls.push(`read ${call[0].length}`), store.read(...call)),
      search: (...call) => (calls.push(`search ${call[0].limit}`), store.search(...call)),
      typeHistory: (...call) => (calls.push(`history ${call[0].ids?.length}`), store.typeHistory(...call)),
    });
    const repository = await member(counted, { rules: FEMALE });
    for (const id of ['a', 'b', 'c']) {
      now = Date.parse(`2031-01-0${'abc'.indexOf(id) + 1}T00:00:00.000Z`);
      await store.commit([put(resourceOf('Patient', id, { gender: 'female' }), {}, 'clinic')]);
      const others = Array.from({ length: hidden }, (_, index): Write =>
        put(resourceOf('Patient', `${id}${index}`, { gender: 'male' }), {}, 'clinic'),
      );
      await store.commit(others);
    }
    calls.length = 0;
    const pages = [await repository.typeHistory('Patient', { count: 2 }), await repository.typeHistory('Patient')];
    answers.push({ pages, calls });
  }
  // The checksum of a cursor names the membership.
  const plain = JSON.stringify(answers).replaceAll(/(_cursor=\w+)\.[\w-]+/g, '$1');
  const [first, second] = JSON.parse(plain) as typeof answers;
  expect(second).toEqual(first);
  expect(answers[0]!.pages[1]!.entry).toHaveLength(3);
});

test('a member that sees a part of the type reaches the 1000 resources that changed last', async () => {
  let now = Date.parse('2030-01-01T00:00:00.000Z');
  const store = new MemoryStore({ clock: () => new Date((now += 1000)) });
  await system(store);
  const repository = await member(store, { rules: FEMALE });
  for (let index = 0; index < 1100; index++) {
    await store.commit([put(resourceOf('Patient', `p${index}`, { gender: 'female' }), {}, 'clinic')]);
  }
  const first = await repository.typeHistory('Patient', { count: 999 });
  expect(first.entry?.map(({ resource }) => resource?.id).slice(-1)).toEqual(['p101']);
  const fault = await faultOf(follow(repository, first));
  expect([fault.code, fault.message]).toEqual([
    'too-costly',
    'More than 1000 resources changed since then; read the histories of single resources, or name a later "_since"',
  ]);
  const since = (await repository.read('Patient', 'p120')).meta.lastUpdated;
  expect(await follow(repository, await repository.typeHistory('Patient', { since, count: 500 }))).toHaveLength(980);
});

// Held against the histories of the single resources.

type Rules = NonNullable<AccessPolicy['resource']>;
const someRules: fc.Arbitrary<Rules | undefined> = fc.constantFrom<(Rules | undefined)[]>(
  undefined,
  [{ resourceType: 'Patient' }],
  [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }],
  FEMALE,
  [{ resourceType: 'Patient', criteria: 'Patient?gender=female', hiddenFields: ['birthDate', 'meta'] }],
  [...FEMALE, { resourceType: 'Patient', criteria: 'Patient?active=true', hiddenFields: ['gender'] }],
  [{ resourceType: 'Patient', hiddenFields: ['gender'] }, ...FEMALE],
  [{ resourceType: 'Patient', criteria: 'Patient?organization.name=north' }],
  [{ resourceType: 'Patient', interaction: ['read', 'search'] }],
);
const someWrites = fc.array(
  fc.record({
    id: fc.constantFrom('1', '2', '3', '4'),
    remove: fc.nat(4).map((one) => one === 0),
    gender: fc.constantFrom('female', 'male'),
    active: fc.boolean(),
    place: fc.constantFrom('n', 's'),
    wait: fc.constantFrom(0, 1, -5),
  }),
  { minLength: 1, maxLength: 14 },
);

test('has for each resource the versions of its own history', async () => {
  await fc.assert(
    fc.asyncProperty(someWrites, someRules, fc.integer({ min: 1, max: 6 }), async (writes, rules, count) => {
      let now = Date.parse('2030-01-01T00:00:00.000Z');
      const store = new MemoryStore({ clock: () => new Date(now) });
      const trusted = await system(store);
      await trusted.update({ resourceType: 'Organization', id: 'n', name: 'north' });
      await trusted.update({ resourceType: 'Organization', id: 's', name: 'south' });
      const repository = await member(
        store,
        rules === undefined ? {} : { rules: [...rules, { resourceType: 'Organization' }] },
      );
      for (const { id, remove, gender, active, place, wait } of writes) {
        now += wait;
        if (remove) {
          await trusted.delete('Patient', id).catch(() => undefined);
          continue;
        }
        const managingOrganization = { reference: `Organization/${place}` };
        await trusted.update({
          ...{ resourceType: 'Patient', id, active, birthDate: '1990-01-01', managingOrganization },
          gender: gender as 'female',
        });
      }
      const paged = await follow(repository, await repository.typeHistory('Patient', { count }));
      const versions = (await Promise.all(['1', '2', '3', '4'].map((id) => versionsOf(repository, id)))).flat();
      expect(paged.map(told).sort()).toEqual(versions.map(told).sort());
      const instants = paged.map(({ response }) => response!.lastModified!);
      expect(instants).toEqual(instants.toSorted().toReversed());
      // Versions of one resource have the order of its history.
      for (const id of ['1', '2', '3', '4']) {
        const own = (entries: NonNullable<Bundle['entry']>): string[] =>
          entries.filter((entry) => idOf(entry) === id).map(told);
        expect(own(paged)).toEqual(own(versions));
      }
    }),
    { numRuns: cases(600, 60) },
  );
});

async function versionsOf(repository: Repository, id: string): Promise<NonNullable<Bundle['entry']>> {
  const history = await repository.history('Patient', id, { count: 1000 }).catch(() => undefined);
  return (history?.entry ?? []).map((entry) => ({ ...entry, fullUrl: `Patient/${id}` }));
}

function idOf({ resource, request, fullUrl }: NonNullable<Bundle['entry']>[number]): string {
  return resource?.id ?? (fullUrl ?? request!.url).split('/')[1]!;
}

/** Whether the oldest version that is shown created the resource is known to the history of the type alone. */
function told(entry: NonNullable<Bundle['entry']>[number]): string {
  return JSON.stringify([idOf(entry), entry.response?.etag, entry.resource ?? null]);
}
