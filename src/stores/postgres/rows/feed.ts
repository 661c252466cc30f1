import { type Sql, sql } from '../../sql/sql.js';
import { plainArrayText } from './array.js';

/** An entry of the change feed: a version that a commit has written. */
export interface FeedEntry {
  readonly key: string;
  readonly version: number;
}

/**
 * Appends the entries of a commit to the feed of its project, as the last that the commit does.
 *
 * The number is a turn, and 20 random bits: with the time, they tell a commit from one of the same turn after a restore or a
 * failover. Turns are not in the order in which commits become visible, but no commit waits for another. Instead, each holds
 * a lock until it is visible that names the last turn before its own, and readers stop before the turns that may come. Locks
 * end with transactions, so they work behind a pooler.
 *
 * A commit has read the version before each of its own, so it takes its turn after the commit that wrote that.
 */
export function feedInsert(shard: string, entries: readonly FeedEntry[]): { readonly turn: Sql; readonly insert: Sql } {
  const keys = plainArrayText(entries.map(({ key }) => key));
  const numbers = plainArrayText(entries.map(({ version }) => version));
  return {
    // The condition comes before the values. The lock names the lower half of the turn.
    turn: sql`SELECT nextval('fhirgraph_turn') << 20 | (random() * 1048575)::bigint AS number, ${NOW} AS at
      FROM fhirgraph_turn WHERE pg_advisory_xact_lock_shared(${classOf(shard)}::int, (last_value << 32 >> 32)::int) IS NOT NULL`,
    insert: sql`INSERT INTO fhirgraph_change (project, number, at, resource, version)
      SELECT ${shard}::uuid, t.number, t.at, u.key, u.version
      FROM turn t CROSS JOIN unnest(${keys}::uuid[], ${numbers}::int[]) AS u(key, version)`,
  };
}

/**
 * The number up to which all commits of a project are visible to the next statement, at most `newest`: that of a commit which
 * this statement sees. A commit that takes its lock later has a later turn.
 */
export function settled(shard: string, newest: Sql): Sql {
  const turn = sql`(${newest} >> 20)`;
  // Of the turns that end in the half of a lock, the one nearest to the newest.
  const locked = sql`${turn} + ((objid::bigint - ${turn}) << 32 >> 32)`;
  return sql`least(${newest}, (SELECT min(${locked}) + 1 << 20 FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = (${classOf(shard)}::bigint & 4294967295)
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) - 1)`;
}

/** The server's clock, in milliseconds since 1970. */
export const NOW = sql`(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;

/** What the locks of a project have in common with few others: they may wait for those, too. */
function classOf(shard: string): number {
  return Number.parseInt(shard.slice(0, 8), 16) | 0;
}
