import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDate } from '../../src/fhir/date.js';
import { createRepository, MemoryStore, type Repository, type VersionsPage } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { cases } from '../support/chance.js';
import { codeOf, signedIn, system } from './harness.js';

// Histories of a period, compared with the whole history, in which each version ends at the next one.

const STORES = [
  ['memory', (clock: () => Date) => new MemoryStore({ clock })],
  ['SQLite', (clock: () => Date) => new SqliteStore(':memory:', { clock })],
] as const;
const START = Date.UTC(2024, 0, 1);
const HOUR = 3_600_000;
const instant = (hours: number): string => new Date(START + hours * HOUR).toISOString();

/** A patient with a version per moment, in hours; odd versions are deletions if the version before is not. */
async function withVersions(
  open: (clock: () => Date) => MemoryStore | SqliteStore,
  hours: readonly number[],
): Promise<{ readonly repository: Repository; readonly store: MemoryStore | SqliteStore; calls: () => number }> {
  let now = START;
  let calls = 0;
  const store = open(() => new Date(now));
  const history = store.history.bind(store);
  store.history = (...asked) => ((calls += 1), history(...asked));
  const repository = await system(store);
  let isThere = false;
  for (const [index, hour] of hours.toSorted((a, b) => a - b).entries()) {
    now = START + hour * HOUR;
    isThere = !(isThere && index % 3 === 2);
    if (isThere) await repository.update({ resourceType: 'Patient', id: 'ann', active: index % 2 === 0 });
    else await repository.delete('Patient', 'ann');
  }
  return { repository, store, calls: () => calls };
}

interface Version {
  readonly tag: string;
  readonly begin: number;
  readonly end: number;
}

async function versionsOf(repository: Repository, page: VersionsPage): Promise<readonly string[]> {
  const { entry = [] } = await repository.history('Patient', 'ann', page);
  return entry.map(({ response }) => response!.etag!);
}

describe.each(STORES)('a history of a period over %s', (_, open) => {
  test('equals an oracle over the whole history, page by page', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 25 }),
        fc.option(fc.integer({ min: -10, max: 210 }), { nil: undefined }),
        fc.option(fc.oneof(fc.constantFrom('2024-01-02', '2024', '2023'), fc.integer({ min: 0, max: 210 })), {
          nil: undefined,
        }),
        fc.integer({ min: 1, max: 7 }),
        async (hours, sinceHour, atMoment, count) => {
          const { repository, store, calls } = await withVersions(open, hours);
          const whole = (await repository.history('Patient', 'ann', { count: 1000 })).entry!;
          const versions = whole.map(({ response }, index): Version => {
            const newer = whole[index - 1]?.response?.lastModified;
            return {
              tag: response!.etag!,
              begin: Date.parse(response!.lastModified!),
              end: newer === undefined ? Infinity : Date.parse(newer),
            };
          });
          const since = sinceHour === undefined ? undefined : instant(sinceHour);
          const at = typeof atMoment === 'number' ? instant(atMoment) : atMoment;
          const { low, high } = at === undefined ? { low: -Infinity, high: Infinity } : parseDate(at)!;
          const expected = versions
            .filter(({ begin }) => since === undefined || begin >= Date.parse(since))
            .filter(({ begin, end }) => begin < high && end > low)
            .map(({ tag }) => tag);
          const found: string[] = [];
          for (let offset = 0; offset < expected.length + count; offset += count) {
            const page = await repository.history('Patient', 'ann', { since, at, count, offset });
            found.push(...(page.entry ?? []).map(({ response }) => response!.etag!));
            expect(page.total).toBe(expected.length);
            expect(page.link!.some(({ relation }) => relation === 'next')).toBe(offset + count < expected.length);
          }
          expect(found).toEqual(expected);
          const before = calls();
          await repository.history('Patient', 'ann', { since, at });
          // The number, the page, and for each end of the window one call per halving.
          expect(calls() - before).toBeLessThanOrEqual(2 + 3 * Math.ceil(Math.log2(versions.length + 1)));
          await store.close();
        },
      ),
      { numRuns: cases(200, 25) },
    ));

  test('keeps the parameters in its links, and the interaction of each entry', async () => {
    const { repository, store } = await withVersions(open, [1, 2, 3, 4]);
    const page = await repository.history('Patient', 'ann', { since: '2024-01-01T02:00:00Z', count: 1 });
    expect(page.link).toEqual([
      { relation: 'self', url: 'Patient/ann/_history?_since=2024-01-01T02%3A00%3A00Z&_count=1' },
      {
        relation: 'next',
        url: expect.stringMatching(/^Patient\/ann\/_history\?_since=2024-01-01T02%3A00%3A00Z&_count=1&_cursor=./),
      },
    ]);
    const rest = await repository.history('Patient', 'ann', { since: '2024-01-01T02:00:00Z', at: '2024-01-01' });
    expect(rest.entry!.map(({ request }) => request?.method)).toEqual(['POST', 'DELETE', 'PUT']);
    expect(await versionsOf(repository, { at: '2024-01-01T02:30:00Z' })).toEqual(['W/"2"']);
    for (const wrong of [{ since: 'x' }, { at: 'x' }, { at: '' }, { since: '2024-13' }]) {
      expect([wrong, await codeOf(repository.history('Patient', 'ann', wrong))]).toEqual([wrong, 'invalid']);
    }
    expect(await codeOf(repository.history('Patient', 'none', { at: '2024' }))).toBe('not-found');
    await store.close();
  });

  test('has the versions that the caller can see', async () => {
    const { store } = await withVersions(open, [1, 2, 5, 6, 9]);
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?active=true' }] });
    const limited = createRepository({ store, caller });
    const all = await versionsOf(limited, {});
    expect(await versionsOf(limited, { since: '2000' })).toEqual(all);
    expect(await versionsOf(limited, { at: '2024-01-01T09:00:00Z' })).toEqual(all.slice(0, 1));
    const hidden = createRepository({ store, caller: await signedIn(store, { rules: [{ resourceType: 'Group' }] }) });
    expect(await codeOf(hidden.history('Patient', 'ann', { since: '2000' }))).toBe('not-found');
    await store.close();
  });
});
