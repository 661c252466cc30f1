import { listOf } from '../../segments/port.js';
import { type Sql, sql, TRUE } from '../../sql/sql.js';
import { arrayText, plainArrayText } from './array.js';
import { textKey } from './keys.js';
import type { Runner } from '../database/run.js';

/** Notes writes, in their transaction. A type without a list needs no note: its list begins with a later state. */
export function noteWritten(shard: string, written: readonly { readonly type: string; readonly id: string }[]): Sql {
  const types = arrayText(written.map(({ type }) => type));
  const ids = arrayText(written.map(({ id }) => id));
  const ofCommit = arrayText([...new Set(written.map(({ type }) => type))]);
  // The stamp has 52 bits, so that JSON can hold it.
  return sql`INSERT INTO fhirgraph_segment_written (project, type, id, stamp)
    SELECT l.project, l.type, u.id, (random() * 4503599627370496)::bigint
    FROM unnest(${types}::text[], ${ids}::text[]) AS u(type, id)
      JOIN fhirgraph_segment_list l ON l.project = ${shard} AND l.type = ANY (${ofCommit}) AND l.type = u.type`;
}

/**
 * Removes the segments of a project, or of one of its types, in the transaction that removes content or changes index rows.
 * No other process can then store a segment that it built of earlier reads, because its list is gone. A list that is begun
 * in between is built after this transaction, as after a commit: its lock comes before its snapshot.
 */
export async function removeSegments(runner: Runner, shard: string, type?: string): Promise<void> {
  const of = sql`project = ${shard} AND ${type === undefined ? TRUE : sql`type = ${type}`}`;
  const written = sql`DELETE FROM fhirgraph_segment_written WHERE ${of}`;
  const lists = await runner.run(
    sql`WITH w AS (${written}) DELETE FROM fhirgraph_segment_list WHERE ${of} RETURNING list`,
  );
  const ids = lists.flatMap(([text]) => listOf(text as string).segments.map(({ id }) => id));
  if (ids.length > 0) await runner.run(removeRows(shard, ids));
}

/** Removes the rows of segments. */
export function removeRows(shard: string, segments: readonly string[]): Sql {
  const keys = plainArrayText(segments.map(textKey));
  return sql`DELETE FROM fhirgraph_segment_row WHERE project = ${shard} AND segment = ANY (${keys}::uuid[])`;
}
