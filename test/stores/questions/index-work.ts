import type Database from 'better-sqlite3';
import type { PostgresPool } from '../../../src/postgres.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { R4 } from '../../../src/store.js';
import { oneOf } from '../../support/kit.js';
import { TUNING as POSTGRES_SCANS } from '../../../src/stores/postgres/scans/tuning.js';
import { SIZES } from '../../../src/stores/segments/run-format.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';
import { TUNING as SQLITE_SCANS } from '../../../src/stores/sqlite/scans/tuning.js';
import { buildSegments } from '../postgres/build-segments.js';

// The only file of the questions that knows the machinery behind the stores. It makes the index of broad questions from few
// resources, and lets each question take a random way. Whoever replaces that index replaces this file, and no question.

const TUNINGS = [POSTGRES_SCANS, SEGMENT_TUNING, SQLITE_SCANS, SIZES] as const;
const USUAL_BLOCK = SIZES.block;
const USUAL = TUNINGS.map((one) => ({ ...one }));

type Random = () => number;

/**
 * From now on, a few hundred resources have an index with many parts. Each call draws anew which values are frequent.
 *
 * @param granule the number of resources of a part
 */
export function useSmallIndexes(random: Random, granule = 8): void {
  useUsualWays();
  Object.assign(SEGMENT_TUNING, { size: 5 * granule, minSize: oneOf([1, 20], random) });
  if (random() < 0.5) Object.assign(SIZES, { block: 8, row: 32, frequent: 16, ids: 16 });
  small = [SEGMENT_TUNING, SIZES].map((one) => ({ ...one }));
}

/** The threads of a store. They do not know other sizes than the usual ones. */
export function readers(): number {
  return SIZES.block === USUAL_BLOCK ? 2 : 0;
}

let small: readonly object[] = [SEGMENT_TUNING, SIZES];

/** Undoes {@link useRandomWay}. */
export function useUsualWay(): void {
  useUsualWays();
  for (const [index, one] of [SEGMENT_TUNING, SIZES].entries()) Object.assign(one, small[index]);
}

function useUsualWays(): void {
  for (const [index, one] of TUNINGS.entries()) Object.assign(one, USUAL[index]);
}

/** The next questions are answered in one of the ways that the stores have to a page and to a count. */
export function useRandomWay(random: Random): void {
  useUsualWay();
  if (random() < 0.1) return;
  Object.assign(SQLITE_SCANS, oneOf(SQLITE_WAYS, random));
  Object.assign(POSTGRES_SCANS, oneOf(POSTGRES_WAYS, random));
  // Without segments, the matches of the rarest condition are tested.
  if (random() < 0.3) Object.assign(POSTGRES_SCANS, { maxWritten: -1 });
}

/** The next questions use the index from the first row on, so that it is read for small data, too. */
export function useEveryPart(): void {
  useUsualWay();
  Object.assign(SQLITE_SCANS, { narrow: 0, walked: 0 });
}

const SQLITE_WAYS: readonly Partial<typeof SQLITE_SCANS>[] = [
  // By segments, and before that by a few rows.
  { narrow: 0, walked: 0 },
  { narrow: 5, walked: 10 },
  // Walked a little, or collected, and otherwise by segments.
  { narrow: 0, walked: 1e6, maxChunk: 30 },
  { narrow: 1e6, maxChunk: 2 },
  // Collected, or walked to the end.
  { narrow: 1, walked: 0, maxChunk: 2, maxWritten: -1 },
  { narrow: 0, walked: 0, maxWritten: -1 },
  { narrow: 0, walked: 0, maxChunk: 3, maxWritten: -1 },
];

const POSTGRES_WAYS: readonly Partial<typeof POSTGRES_SCANS>[] = [
  // By segments, or from the rarest condition.
  { look: 0 },
  { look: 1, broadTarget: 2, maxHashed: 400 },
  // A few at once.
  { look: 8, broadTarget: 2 },
  { look: 1e9, maxHashed: 0 },
];

/** Brings the index of a SQLite database up to date, as another process would. */
export async function indexSqlite(database: Database.Database, baseUrl?: string): Promise<void> {
  const store = new SqliteStore(database, { baseUrl, reindex: 'manual' });
  await store.reindex({ pendingOnly: true });
  await store.close();
}

/** Brings the index of some types up to date, as another process would. */
export async function indexPostgres(
  pool: PostgresPool,
  types: Iterable<string>,
  project?: string,
  baseUrl?: string,
): Promise<void> {
  useUsualWay();
  await buildSegments(pool, types, project, R4.withBaseUrl(baseUrl));
}
