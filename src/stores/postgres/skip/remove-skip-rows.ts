import { type Sql, sql } from '../../sql/sql.js';

/**
 * Removes the skip indexes of a project, or of a type of it: they hold values of its resources. In this order, in one
 * transaction: what is made at the same time fails, as its mark is gone.
 *
 * The mark is read with `fhirgraph_writer`, so that one which is set now waits for this transaction.
 */
export function removeSkipRows(shard: string, type?: string): readonly Sql[] {
  const ofType = type === undefined ? sql`` : sql`AND type = ${type}`;
  return [
    sql`DELETE FROM fhirgraph_skip_type WHERE project = ${shard} ${ofType} AND (SELECT count(*) FROM fhirgraph_writer) > 0`,
    sql`DELETE FROM fhirgraph_skip WHERE project = ${shard} ${ofType}`,
    sql`DELETE FROM fhirgraph_skip_key WHERE project = ${shard} ${ofType}`,
    sql`DELETE FROM fhirgraph_skip_written WHERE project = ${shard} ${ofType}`,
  ];
}
