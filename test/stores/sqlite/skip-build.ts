import type Database from 'better-sqlite3';
import { R4 } from '../../../src/fhir/r4.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';

/** Builds or updates all skip indexes. */
export function buildSkips(database: Database.Database): void {
  const { skipIndexes } = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  const known = database.prepare('SELECT DISTINCT collection FROM skip').pluck().all() as number[];
  const collections = known.length > 0 ? known : skipIndexes.listStale();
  for (const collection of collections) skipIndexes.write(skipIndexes.build(collection));
}
