import { type Sql, sql } from '../../sql/sql.js';

/**
 * The row of a resource by its key. OFFSET keeps the planner from a join: without statistics it expects few
 * resources per project, and would read all of them.
 */
export function byKey(shard: string, key: Sql): Sql {
  return sql`SELECT * FROM resource y WHERE y.project = ${shard} AND y.key = ${key} OFFSET 0`;
}

/**
 * The condition that rows of a table belong to the project. Two alternatives look worse to the planner than the
 * key, which is known too; see dialect.ts.
 */
export function isOfProject(column: Sql, shard: string): Sql {
  return sql`${column} = ANY (ARRAY[${shard}, ${shard}]::uuid[])`;
}

/**
 * Deletes the rows that resources have in a table. The rows are found first, by the index of each resource:
 * without statistics, the planner expects so many that it would read the whole table.
 *
 * @param keys see rowsOf
 */
export function deleteOf(table: Sql, shard: string, keys: Sql): Sql {
  const rows = sql`SELECT t.ctid FROM ${keys} AS k(key) CROSS JOIN LATERAL (
    SELECT y.ctid FROM ${table} y WHERE ${isOfProject(sql`y.project`, shard)} AND y.resource = k.key OFFSET 0) t`;
  return sql`DELETE FROM ${table} x WHERE ${isOfProject(sql`x.project`, shard)} AND x.ctid = ANY (ARRAY(${rows}))`;
}
