import { type Sql, sql } from '../sql/sql.js';

/**
 * The row of a resource by its key. PERF: OFFSET keeps the planner from a join: before there are statistics it believes in a
 * few resources per project, and would read all.
 */
export function byKey(shard: string, key: Sql): Sql {
  return sql`SELECT * FROM resource y WHERE y.project = ${shard} AND y.key = ${key} OFFSET 0`;
}

/**
 * Rows of a table are of the project. PERF: two alternatives look worse to the planner than the key that is known too; see
 * dialect.ts.
 */
export function isOfProject(column: Sql, shard: string): Sql {
  return sql`${column} = ANY (ARRAY[${shard}, ${shard}]::uuid[])`;
}
