import type { Bundle } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { executeFhirGraphql, exportProject, MemoryStore, type ResourceStore, serverCaller } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { ShortPage, TextBudget } from '../../src/store.js';
import { repositoryOf } from '../../src/repository/create-repository.js';
import { historyParameters, typeHistoryParameters } from '../../src/repository/history-parameters.js';
import { openRepository } from '../../src/repository/open-repository.js';
import { everything } from '../../src/repository/everything.js';
import { onceTestEnds } from '../support/after-tests.js';
import { someOf } from '../support/chance.js';
import { postgresStore } from '../stores/postgres/store.js';
import { faultOf, signedIn, system } from './harness.js';

// Pages of large resources: what a request reads is bounded in bytes.

const STORES: readonly (readonly [string, () => Promise<ResourceStore>])[] = [
  ['memory', async () => new MemoryStore()],
  ['SQLite', async () => new SqliteStore(':memory:')],
  ['SQLite with a cache', async () => new SqliteStore(':memory:', { cacheBytes: 64_000_000 })],
  ['PostgreSQL', () => postgresStore()],
];

const COUNT = 12;
/** Bytes of a document, about. */
const SIZE = 20_000;

async function withDocuments(open: () => Promise<ResourceStore>): Promise<ResourceStore> {
  const store = await open();
  onceTestEnds(() => store.close());
  const repository = await system(store);
  await repository.update({ resourceType: 'Patient', id: 'p' });
  for (let number = 0; number < COUNT; number += 1) {
    await repository.update({
      ...{ resourceType: 'DocumentReference', id: `d${String(number).padStart(2, '0')}`, status: 'current' },
      subject: { reference: 'Patient/p' },
      content: [{ attachment: { data: 'A'.repeat(SIZE) } }],
    } as never);
    await repository.update({ resourceType: 'Binary', id: 'b', contentType: 'text/plain', data: 'A'.repeat(SIZE) });
  }
  return store;
}

async function pagesOf(
  ask: (parameters: URLSearchParams) => Promise<Bundle>,
  first: string,
): Promise<readonly Bundle[]> {
  const pages: Bundle[] = [];
  for (let url: string | undefined = `x?${first}`; url !== undefined;) {
    const page: Bundle = await ask(new URLSearchParams(url.split('?')[1]));
    pages.push(page);
    url = page.link?.find(({ relation }) => relation === 'next')?.url;
    if (pages.length > 100) throw new Error('The links do not end');
  }
  return pages;
}

const IDS = Array.from({ length: COUNT }, (_, number) => `d${String(number).padStart(2, '0')}`);

function idsOf(pages: readonly Bundle[]): readonly (string | undefined)[] {
  return pages.flatMap(({ entry = [] }) => entry.map(({ resource }) => resource?.id));
}

describe.each(someOf(STORES, 3))('resources of %s that are large together', (_, open) => {
  test('come in shorter pages of a search, in both directions, and of histories and $everything', async () => {
    const store = await withDocuments(open);
    // Half of it is for the page: four documents.
    const limits = { bytes: 10 * SIZE };
    const caller = serverCaller('clinic');
    const opened = openRepository({ store, caller, limits });
    const repository = repositoryOf(opened);
    const search = (parameters: URLSearchParams): Promise<Bundle> => repository.search('DocumentReference', parameters);
    for (const sort of [
      '',
      '_sort=-_id',
      '_sort=-_lastUpdated',
      'status=current&_sort=_lastUpdated',
      'subject=Patient/p',
    ]) {
      const pages = await pagesOf(search, `${sort}&_count=1000`);
      expect(pages.map(({ entry }) => entry?.length)).toEqual([4, 4, 4]);
      expect([sort, idsOf(pages).toSorted()]).toEqual([sort, IDS]);
      const previous = pages[2]!.link!.find(({ relation }) => relation === 'previous')!.url;
      const back = await search(new URLSearchParams(previous.split('?')[1]));
      expect(idsOf([back])).toEqual(idsOf([pages[1]!]));
      expect(back.link!.map(({ relation }) => relation)).toEqual(['self', 'previous', 'next']);
    }
    const versions = await pagesOf((one) => repository.history('Binary', 'b', historyParameters(one)), '_count=1000');
    // Finding the place of a page reads some versions, too.
    expect(versions[0]!.entry).toHaveLength(4);
    expect(versions.length).toBeLessThanOrEqual(9);
    const tags = versions.flatMap(({ entry = [] }) =>
      entry.map(({ request, response }) => [response!.etag, request!.method]),
    );
    expect(tags).toEqual(
      Array.from({ length: COUNT }, (_, index) => [`W/"${COUNT - index}"`, index === COUNT - 1 ? 'POST' : 'PUT']),
    );
    const types = await pagesOf((one) => repository.typeHistory('Binary', typeHistoryParameters(one)), '_count=1000');
    expect(types.map(({ entry }) => entry?.length)).toEqual([4, 4, 4]);
    const whole = await pagesOf((one) => everything(opened, { type: 'Patient', id: 'p' }, one), '_count=1000');
    expect(idsOf(whole).toSorted()).toEqual([...IDS, 'p']);
    expect(whole.length).toBeGreaterThan(2);
    const rules = [
      { resourceType: 'Binary' },
      { resourceType: 'DocumentReference', criteria: 'DocumentReference?status=current' },
    ];
    const member = repositoryOf(openRepository({ store, caller: await signedIn(store, { rules }), limits }));
    expect(idsOf(await pagesOf((one) => member.search('DocumentReference', one), '_count=1000')).toSorted()).toEqual(
      IDS,
    );
    const own = await pagesOf(
      (one) => member.typeHistory('DocumentReference', typeHistoryParameters(one)),
      '_count=1000',
    );
    expect(idsOf(own).toSorted()).toEqual(IDS);
    const lines: string[] = [];
    for await (const line of exportProject('clinic', { store, caller: serverCaller(), limits, history: true })) {
      lines.push(line);
    }
    expect(lines.filter((line) => line.includes('DocumentReference')).length).toBeGreaterThanOrEqual(COUNT);
  });

  test('are too costly where no page can be shorter', async () => {
    const store = await withDocuments(open);
    const limits = { bytes: 6 * SIZE };
    const caller = serverCaller('clinic');
    const tooMany = {
      code: 'too-costly',
      details: { limit: 'bytes', max: limits.bytes },
    };
    for (const query of [
      '{ DocumentReferenceList(_count: 1000) { id } }',
      '{ DocumentReferenceList(_sort: "-_lastUpdated") { id } }',
      '{ DocumentReferenceConnection(_count: 10) { edges { resource { id } } } }',
      '{ Patient(id: "p") { DocumentReferenceList(_reference: subject) { id } } }',
      `{ ${IDS.map((id) => `${id}: DocumentReference(id: "${id}") { id }`).join(' ')} }`,
      `{ ${IDS.map((id) => `${id}: DocumentReferenceList(_id: "${id}") { id }`).join(' ')} }`,
    ]) {
      const { data, errors } = await executeFhirGraphql(query, { store, caller, limits });
      expect([query, data ?? null, errors?.map(({ extensions }) => extensions['code'])]).toEqual([
        query,
        null,
        ['too-costly'],
      ]);
      expect(errors![0]!.message).toMatch(/^The answer needs more than 120000 bytes of stored resources; page with/);
      const enough = await executeFhirGraphql(query, { store, caller });
      expect(enough.errors).toBeUndefined();
    }
    const repository = repositoryOf(openRepository({ store, caller, limits }));
    const included = repository.search('Patient', '_revinclude=DocumentReference:subject');
    expect(await faultOf(included)).toMatchObject(tooMany);
    const batch = await repository.transaction({
      resourceType: 'Bundle',
      type: 'batch',
      entry: IDS.map((id) => ({ request: { method: 'GET', url: `DocumentReference/${id}` } })),
    });
    const statuses = batch.entry!.map(({ response }) => response!.status.slice(0, 3));
    expect(statuses).toEqual([...Array<string>(5).fill('200'), ...Array<string>(COUNT - 5).fill('422')]);
    const small = repositoryOf(openRepository({ store, caller, limits: { bytes: SIZE / 2 } }));
    expect(await faultOf(small.search('DocumentReference', '_count=5'))).toMatchObject({ code: 'too-costly' });
    expect(await faultOf(small.read('DocumentReference', 'd00'))).toMatchObject({ code: 'too-costly' });
    expect(
      await faultOf(repositoryOf(openRepository({ store, caller, limits: { bytes: 0 } })).read('Patient', 'p')),
    ).toMatchObject({
      code: 'invalid',
    });
  });

  test('count alike in every call of the store', async () => {
    const store = await withDocuments(open);
    const keys = IDS.map((id) => ({ project: 'clinic', type: 'DocumentReference', id }));
    const query = { project: 'clinic', type: 'DocumentReference', criteria: { kind: 'all' }, limit: 1000 } as const;
    const spent = async (ask: (budget: TextBudget) => Promise<unknown>): Promise<number> => {
      const budget = new TextBudget();
      await ask(budget);
      return Math.round((budget.max - budget.left) / SIZE);
    };
    expect(
      await Promise.all([
        spent((budget) => store.read(keys, { budget })),
        spent((budget) => store.read(keys.slice(0, 2), { budget })),
        spent((budget) => store.search(query, { budget })),
        spent((budget) => store.search(query, { budget })),
        spent((budget) => store.searchByReference(query, 'subject', [{ type: 'Patient', id: 'p' }], { budget })),
        spent((budget) =>
          store.history({ project: 'clinic', type: 'Binary', id: 'b' }, { offset: 0, limit: 1000 }, { budget }),
        ),
        spent((budget) => store.typeHistory!({ project: 'clinic', type: 'Binary', limit: 1000 }, { budget })),
      ]),
    ).toEqual([COUNT, 2, COUNT, COUNT, COUNT, COUNT, COUNT]);
    const shortens = new ShortPage();
    const { matches } = await store.search({ ...query, shortens }, { budget: new TextBudget(4 * SIZE) });
    expect([matches.length, shortens.isCut]).toEqual([1, true]);
  });
});
