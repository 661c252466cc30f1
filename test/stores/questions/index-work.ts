import type Database from 'better-sqlite3';
import { R4 } from '../../../src/fhir/r4.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { SKIP_TUNING as POSTGRES_SKIPS } from '../../../src/stores/postgres/rows/skip-row.js';
import { TUNING as POSTGRES_SCANS } from '../../../src/stores/postgres/scans/tuning.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { SKIP_TUNING as SQLITE_SKIPS } from '../../../src/stores/sqlite/rows/skip-row.js';
import { TUNING as SQLITE_SCANS } from '../../../src/stores/sqlite/scans/tuning.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { oneOf } from '../../../src/testing/random.js';
import { buildSkips as buildPostgres } from '../postgres/skip-build.js';

// The only file of the questions that knows the machinery behind the stores. It makes the index of broad questions from few
// resources, and lets each question take a random way. Whoever replaces that index replaces this file, and no question.

const TUNINGS = [POSTGRES_SKIPS, POSTGRES_SCANS, SQLITE_SKIPS, SQLITE_SCANS, COUNTING_SETS] as const;
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
  Object.assign(SQLITE_SKIPS, { granule, minGranules: 3, minHolders });
  Object.assign(POSTGRES_SKIPS, { granule, minGranules: 3, minHolders, minGroups: 12, maxFresh: 0 });
  Object.assign(POSTGRES_SKIPS, {
    maxLayered: oneOf([0.25, 100], random),
    layerGrowth: oneOf([0, 2, Infinity], random),
  });
  small = [{ ...SQLITE_SKIPS }, { ...POSTGRES_SKIPS }];
}

let small: readonly [sqlite: object, postgres: object] = [SQLITE_SKIPS, POSTGRES_SKIPS];

/** Undoes {@link useRandomWay}. */
export function useUsualWay(): void {
  useUsualWays();
  Object.assign(SQLITE_SKIPS, small[0]);
  Object.assign(POSTGRES_SKIPS, small[1]);
}

function useUsualWays(): void {
  for (const [index, one] of TUNINGS.entries()) Object.assign(one, USUAL[index]);
}

/** The next questions are answered in one of the ways that the stores have to a page and to a count. */
export function useRandomWay(random: Random): void {
  useUsualWay();
  if (random() < 0.1) return;
  Object.assign(SQLITE_SCANS, { skipFrom: 0, ...oneOf(SQLITE_WAYS, random) });
  Object.assign(SQLITE_SKIPS, {
    maxLookedUp: oneOf([0, 3, 20, 4_096], random),
    maxTested: oneOf([1, 4, 64], random),
    maxTied: oneOf([0, 20, 8_192], random),
  });
  Object.assign(COUNTING_SETS, {
    minRows: 0,
    maxRead: oneOf([0, 40, 32_768], random),
    readPerTest: oneOf([0, 1, 8], random),
    fewTested: oneOf([0, 20, 2_048], random),
    maxTested: oneOf([0, 20, 16_384], random),
  });
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
  Object.assign(SQLITE_SCANS, { looks: [Infinity], skipFrom: 0 });
  Object.assign(COUNTING_SETS, { minRows: 0, maxRead: 10, readPerTest: 0 });
}

const SQLITE_WAYS: readonly Partial<typeof SQLITE_SCANS>[] = [
  // Part by part of the index, a match at a time or some of them.
  { looks: [Infinity], fewTogether: -1, firstChunk: 0, maxChunk: 1 },
  { looks: [Infinity], fewTogether: 4, firstChunk: 4 },
  { looks: [Infinity], fewTogether: -1, firstChunk: 0, maxChunk: 8 },
  // Sorted at once, also if the database may not sort so many.
  { looks: [Infinity], fewTogether: Infinity },
  { looks: [Infinity], maxSorted: 2, fewTogether: 4, firstChunk: 4 },
  // Walked a little, and then by the index.
  { looks: [8, 32, Infinity], skipFrom: 20, fewTogether: 2, firstChunk: 1, maxChunk: 4 },
  // Without the index: collected, walked, collected by several conditions, or walked a little and then collected.
  { skipFrom: Infinity, looks: [1e9, Infinity] },
  { skipFrom: Infinity, looks: [Infinity], firstChunk: 1, maxChunk: 3 },
  { skipFrom: Infinity, looks: [Infinity], firstChunk: 2, maxOutside: 0 },
  {
    skipFrom: Infinity,
    looks: [1, 1e9, Infinity],
    walkedPerScanned: 1e-9,
    indirectFrom: 0,
    readPerScanned: 1e9,
  },
  { skipFrom: Infinity, looks: [2, 20, Infinity], firstChunk: 1, maxChunk: 4, indirectFrom: 20 },
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

/** Brings the index of a SQLite file up to date, as another process would. */
export function indexSqlite(database: Database.Database): void {
  useUsualWay();
  const { skipIndexes } = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  const known = database.prepare('SELECT DISTINCT collection FROM skip').pluck().all() as number[];
  for (const collection of new Set([...known, ...skipIndexes.listStale()])) {
    skipIndexes.write(skipIndexes.build(collection));
  }
}

/** Brings the index of some types up to date, as another process would. */
export async function indexPostgres(pool: PostgresPool, types: Iterable<string>, project?: string): Promise<void> {
  useUsualWay();
  await buildPostgres(pool, types, project);
}
