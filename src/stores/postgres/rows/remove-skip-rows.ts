import { type Sql, sql } from '../../sql/sql.js';

/**
 * Removes the skip indexes of a project, or of one of its types: they hold values of its resources. The statements run in
 * this order, in one transaction. A build that runs at the same time fails, because its mark is gone.
 *
 * The mark is read with `fhirgraph_writer`, so a build that sets its mark now waits for this transaction.
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
