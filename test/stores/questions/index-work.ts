import type Database from 'better-sqlite3';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { SKIP_TUNING as POSTGRES_SKIPS } from '../../../src/stores/postgres/rows/skip-row.js';
import { TUNING as POSTGRES_SCANS } from '../../../src/stores/postgres/scans/tuning.js';
import { SEGMENT_TUNING } from '../../../src/stores/sqlite/rows/segment-tables.js';
import { TUNING as SQLITE_SCANS } from '../../../src/stores/sqlite/scans/tuning.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { oneOf } from '../../../src/testing/random.js';
import { buildSkips as buildPostgres } from '../postgres/skip-build.js';

// The only file of the questions that knows the machinery behind the stores. It makes the index of broad questions from few
// resources, and lets each question take a random way. Whoever replaces that index replaces this file, and no question.

const TUNINGS = [POSTGRES_SKIPS, POSTGRES_SCANS, SEGMENT_TUNING, SQLITE_SCANS] as const;
const USUAL = TUNINGS.map((one) => ({ ...one }));

type Random = () => number;

/**
 * From now on, a few hundred resources have an index with many parts. Each call draws anew which values are frequent.
 *
 * @param granule the number of resources of a part
 */
export function useSmallIndexes(random: Random, granule = 8): void {
  useUsualWays();
  const minHolders = oneOf([2, 12, 40], random);
  Object.assign(SEGMENT_TUNING, { minResources: 1, size: 5 * granule, flushFrom: oneOf([1, 20], random) });
  Object.assign(POSTGRES_SKIPS, { granule, minGranules: 3, minHolders, minGroups: 12, maxFresh: 0 });
  Object.assign(POSTGRES_SKIPS, {
    maxLayered: oneOf([0.25, 100], random),
    layerGrowth: oneOf([0, 2, Infinity], random),
  });
  small = [{ ...SEGMENT_TUNING }, { ...POSTGRES_SKIPS }];
}

let small: readonly [sqlite: object, postgres: object] = [SEGMENT_TUNING, POSTGRES_SKIPS];

/** Undoes {@link useRandomWay}. */
export function useUsualWay(): void {
  useUsualWays();
  Object.assign(SEGMENT_TUNING, small[0]);
  Object.assign(POSTGRES_SKIPS, small[1]);
}

function useUsualWays(): void {
  for (const [index, one] of TUNINGS.entries()) Object.assign(one, USUAL[index]);
}

/** The next questions are answered in one of the ways that the stores have to a page and to a count. */
export function useRandomWay(random: Random): void {
  useUsualWay();
  if (random() < 0.1) return;
  const [ways, segments] = oneOf(SQLITE_WAYS, random);
  Object.assign(SQLITE_SCANS, ways);
  Object.assign(SEGMENT_TUNING, segments);
  Object.assign(POSTGRES_SCANS, { walkedFirst: 0, mostShare: 2, ...oneOf(POSTGRES_WAYS, random) });
  Object.assign(POSTGRES_SCANS, {
    maxTested: oneOf([10, 1_000], random),
    denseGranule: oneOf([1, 4, POSTGRES_SCANS.denseGranule], random),
    deep: oneOf([0, 3, Infinity], random),
  });
  Object.assign(POSTGRES_SKIPS, {
    maxNumbered: oneOf([2, POSTGRES_SKIPS.maxNumbered], random),
    maxTested: oneOf([0, 2, 64], random),
    maxScanned: oneOf([3, 1_000], random),
    maxCounted: oneOf([3, 1_000], random),
    manySeveral: oneOf([0, POSTGRES_SKIPS.manySeveral], random),
  });
}

/** The next questions use the index from the first row on, so that it is read for small data, too. */
export function useEveryPart(): void {
  useUsualWay();
  Object.assign(SQLITE_SCANS, { narrow: 0, walked: 0 });
}

const NO_SEGMENTS: Partial<typeof SEGMENT_TUNING> = { maxWritten: -1 };

const SQLITE_WAYS: readonly (readonly [Partial<typeof SQLITE_SCANS>, Partial<typeof SEGMENT_TUNING>])[] = [
  // By segments, and before that by a few rows.
  [{ narrow: 0, walked: 0 }, {}],
  [{ narrow: 5, walked: 10, firstChunk: 2 }, {}],
  // Walked a little, or collected, and otherwise by segments.
  [{ narrow: 0, walked: 1e6, firstChunk: 1, maxChunk: 30 }, {}],
  [{ narrow: 1e6, maxSorted: 2 }, {}],
  // Collected, or walked to the end.
  [{ narrow: 0, walked: 0, maxSorted: 2 }, NO_SEGMENTS],
  [{ narrow: 0, walked: 0, maxCollected: 0 }, NO_SEGMENTS],
  [{ narrow: 0, walked: 0, maxCollected: 0, firstChunk: 1, maxChunk: 3 }, NO_SEGMENTS],
];

const POSTGRES_WAYS: readonly Partial<typeof POSTGRES_SCANS>[] = [
  { looks: [Infinity], fewTogether: -1, firstBatch: 0, maxBatch: 1 },
  { looks: [Infinity], fewTogether: 4, firstBatch: 4 },
  { looks: [Infinity], fewTogether: Infinity },
  { looks: [Infinity], fewTogether: 0, firstBatch: 0, readPerMember: 100, writtenBeside: Infinity },
  { walkedFirst: 3, stretch: 3, looks: [2, 8, 32, Infinity], fewTogether: 2, firstBatch: 1, maxBatch: 4, maxTested: 4 },
  // Collected, walked, walked with lists, or counted by lists.
  { looks: [1e9, Infinity], maxCollected: 1e9, maxHashed: 0 },
  { looks: [Infinity], broadTarget: 2, stretch: 3, growth: 2, maxHashed: 4 },
  { looks: [Infinity], stretch: 5, growth: 2, maxOutside: 0 },
  { looks: [Infinity], stretch: 5, growth: 2, listedFrom: 1, indirectFrom: 1, maxListed: 5 },
  { looks: [2, 20, Infinity], stretch: 4, growth: 2, indirectFrom: 20 },
  { looks: [1, Infinity], maxCollected: 0, countLook: 5 },
  { looks: [1, Infinity], maxCollected: 0, countLook: 5, maxCountList: 20 },
];

/** Brings the index of a SQLite database up to date, as another process would. */
export async function indexSqlite(database: Database.Database): Promise<void> {
  const store = new SqliteStore(database, { reindex: 'manual' });
  await store.reindex({ pendingOnly: true });
  await store.close();
}

/** Brings the index of some types up to date, as another process would. */
export async function indexPostgres(pool: PostgresPool, types: Iterable<string>, project?: string): Promise<void> {
  useUsualWay();
  await buildPostgres(pool, types, project);
}
