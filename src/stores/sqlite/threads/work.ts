import type { PurgeRequest } from '../../../store/removal.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import type { Connection } from '../connection.js';
import { copyDatabase } from '../maintenance/backup.js';

/**
 * The work of calls that a thread may do, by name. The event loop does the same over its own connection, where the work is
 * short or there are no threads. Resources stay in the database: pages are keys of versions.
 */
const WORK = {
  search: (connection: Connection, query: SearchQuery) => connection.search(query),
  'search-by-reference': (
    connection: Connection,
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    withTexts: number,
  ) => connection.searchByReference(query, parameter, targets, withTexts),
  verify: ({ maintenance }: Connection) => maintenance.verify(),
  /** @param partial the absolute path of an empty file */
  backup: ({ database }: Connection, partial: string) => copyDatabase(database, partial),
  /** See `ValueIndexes`. */
  'create-indexes': ({ valueIndexes }: Connection) => valueIndexes.create(),
  reindex: ({ maintenance }: Connection) => maintenance.reindex(),
  'purge-history': ({ removal }: Connection, request: PurgeRequest) => removal.purgeHistory(request),
  'remove-project': ({ removal }: Connection, project: string) => removal.removeProject(project),
  scrub: (connection: Connection) => connection.scrub(),
  /** Passive: it waits for no other connection, and no connection waits for it. */
  checkpoint: ({ database }: Connection) => void database.pragma('wal_checkpoint(PASSIVE)'),
} as const;

export type WorkName = keyof typeof WORK;

export type WorkArguments<Name extends WorkName> =
  Parameters<(typeof WORK)[Name]> extends [Connection, ...infer Rest] ? Rest : never;

export type WorkResult<Name extends WorkName> = ReturnType<(typeof WORK)[Name]>;

/** Does the work of a call over a connection. */
export function doWork<Name extends WorkName>(
  connection: Connection,
  name: Name,
  args: WorkArguments<Name>,
): WorkResult<Name> {
  const work = WORK[name] as (connection: Connection, ...rest: readonly unknown[]) => unknown;
  return work(connection, ...args) as WorkResult<Name>;
}

/** The work of reads, which is short in most cases. */
export const SEARCHES: ReadonlySet<WorkName> = new Set<WorkName>(['search', 'search-by-reference']);

/** The work that changes the file. A checkpoint changes nothing, and is done in the thread that writes. */
export const WRITING: ReadonlySet<string> = new Set<WorkName>([
  'create-indexes',
  'reindex',
  'purge-history',
  'remove-project',
  'scrub',
]);
