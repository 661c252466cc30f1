import type { AccessPolicy, Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryStore, type Repository, type ResourceStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { cases, SEED } from '../support/chance.js';
import { namedStores } from '../support/named-stores.js';
import { storeWith } from '../support/store-with.js';
import { codeOf, member, system } from './harness.js';

type Entry = NonNullable<Bundle['entry']>[number];

/** All pages, by their links. */
async function whole(repository: Repository, count: number, since?: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await repository.systemHistory({ count, since, cursor });
    expect((page.entry ?? []).length).toBeLessThanOrEqual(count);
    entries.push(...(page.entry ?? []));
    const next = page.link?.find(({ relation }) => relation === 'next')?.url;
    cursor = next === undefined ? undefined : new URL(next, 'http://x').searchParams.get('_cursor')!;
  }
  return entries;
}

const TYPES = ['Organization', 'Patient', 'Practitioner'] as const;

const STEPS = fc.array(
  fc.record({
    type: fc.constantFrom(...TYPES),
    id: fc.constantFrom('1', '2', '3'),
    isDeleted: fc.nat(4).map((one) => one === 0),
    active: fc.boolean(),
    wait: fc.constantFrom(0, 0, 1, -5),
  }),
  { minLength: 1, maxLength: 20 },
);

type Rules = NonNullable<AccessPolicy['resource']>;
const RULES: fc.Arbitrary<Rules | undefined> = fc.constantFrom<(Rules | undefined)[]>(
  undefined,
  [{ resourceType: 'Patient' }, { resourceType: 'Practitioner' }],
  [{ resourceType: 'Patient', criteria: 'Patient?active=true' }, { resourceType: 'Organization' }],
  [
    { resourceType: 'Patient', hiddenFields: ['active'] },
    { resourceType: 'Practitioner', interaction: ['read'] },
  ],
);

const STORES = namedStores([
  ['memory', SEED, 60, (clock: () => Date) => new MemoryStore({ clock })],
  ['SQLite', SEED + 1, 20, (clock: () => Date) => new SqliteStore(':memory:', { clock })],
  ['PostgreSQL', SEED + 2, 4, async (clock: () => Date) => new PostgresStore(await postgresPool(), { clock })],
] as const);

describe.each(STORES)('the history of a project over %s', (_, seed, runs, open) => {
  test('has the versions that the histories of its types have, newest first, in pages of any size', async () => {
    const check = async (
      steps: typeof STEPS extends fc.Arbitrary<infer Drawn> ? Drawn : never,
      rules: Rules | undefined,
      count: number,
    ): Promise<void> => {
      let now = Date.parse('2030-01-01T00:00:00.000Z');
      const store: ResourceStore = await open(() => new Date(now));
      try {
        const trusted = await system(store);
        const repository = rules === undefined ? trusted : await member(store, { rules });
        now += 1000;
        const since = new Date(now).toISOString();
        for (const { type, id, isDeleted, active, wait } of steps) {
          now = Math.max(now + wait, Date.parse(since));
          if (isDeleted) await trusted.delete(type, id).catch(() => undefined);
          else await trusted.update({ resourceType: type, id, active });
        }
        const histories = await Promise.all(TYPES.map((type) => repository.typeHistory(type, { since, count: 100 })));
        // Sorting is stable: equal instants are in the order of the types.
        const expected = histories
          .flatMap(({ entry = [] }) => entry as readonly Entry[])
          .sort((a, b) => Date.parse(b.response!.lastModified!) - Date.parse(a.response!.lastModified!));
        expect(await whole(repository, count, since)).toEqual(expected);
      } finally {
        await store.close();
      }
    };
    const drawn = fc.asyncProperty(STEPS, RULES, fc.integer({ min: 1, max: 9 }), check);
    await fc.assert(drawn, { numRuns: cases(runs, Math.ceil(runs / 4)), seed });
  });
});

test('later writes do not shift its pages, and bad input is refused', async () => {
  const store = new MemoryStore();
  const repository = await system(store, 'clinic', { baseUrl: 'https://clinic.example/fhir/R4' });
  for (const id of ['1', '2', '3']) await repository.update({ resourceType: 'Patient', id });
  const first = await repository.systemHistory({ count: 2 });
  const [self, next] = first.link!.map(({ url }) => new URL(url));
  expect(self!.href).toBe('https://clinic.example/fhir/R4/_history?_count=2');
  await repository.update({ resourceType: 'Device', id: '4' });
  const rest = await repository.systemHistory({ cursor: next!.searchParams.get('_cursor')! });
  const names = (bundle: Bundle): unknown[] => bundle.entry!.map(({ request }) => request!.url);
  expect(names(first)).toEqual(['Patient', 'Patient']);
  expect(names(rest)).toEqual(['Patient', 'Project']);
  expect(await codeOf(repository.systemHistory({ cursor: 'x' }))).toBe('invalid');
  expect(await codeOf(repository.systemHistory({ since: 'yesterday' }))).toBe('invalid');
  expect(await codeOf(repository.systemHistory({ count: 1001 }))).toBe('too-costly');
  const cursor = next!.searchParams.get('_cursor')!;
  expect(await codeOf(repository.typeHistory('Patient', { cursor }))).toBe('invalid');
  expect(await codeOf((await system(storeWith(store, {}))).systemHistory())).toBe('unsupported');
});
