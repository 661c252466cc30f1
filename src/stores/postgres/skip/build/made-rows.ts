import { Sql, sql } from '../../../sql/sql.js';
import { rollbackUnless } from '../../database/errors.js';
import type { Connection } from '../../database/lent-connection.js';
import { withLiterals } from '../../database/literals.js';
import type { Runner } from '../../rows/meta.js';
import { ofType } from '../read/skip-state.js';
import { endsWhenSilent } from '../../database/silence.js';

/** Conditions of the stored rows `s` of a type that the made ones replace. */
export interface Replaced {
  /** On `fhirgraph_skip`. */
  readonly rows: Sql;
  /** On `fhirgraph_skip_key`. */
  readonly keys: Sql;
}

/**
 * Begins a transaction that makes skip indexes from one consistent state.
 *
 * Its limits replace those of the host: gathering the values of a parameter takes seconds at a million resources.
 */
export function beginMaking(): Sql {
  return sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET LOCAL jit = off; SET LOCAL work_mem = '64MB';
  SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL default_statistics_target = 1; SET LOCAL lock_timeout = '10s';
  SET LOCAL statement_timeout = '10min'; ${endsWhenSilent()}`;
}

/**
 * Creates the temporary tables in which a transaction gathers the rows of a skip index.
 *
 * The transaction changes and locks no stored row until all rows are made, which can take a minute: erasures would have
 * to wait.
 */
export async function createMadeRows(runner: Runner): Promise<void> {
  await runner.run(sql`CREATE TEMP TABLE fhirgraph_made (LIKE fhirgraph_skip INCLUDING STORAGE) ON COMMIT DROP`);
  await runner.run(sql`CREATE TEMP TABLE fhirgraph_made_key (LIKE fhirgraph_skip_key) ON COMMIT DROP`);
}

/**
 * Replaces stored rows by the made ones, and ends the transaction.
 *
 * This is one message, so locks last as long as its statements, even if this process hangs. The first lock is that of
 * the mark, as in erasures (see remove-skip-rows.ts), so the two cannot deadlock.
 *
 * @throws the server's error - the mark was removed; another attempt is possible
 */
export async function publishMadeRows(
  connection: Connection,
  { project, type }: { readonly project: string; readonly type: string },
  { rows, keys }: Replaced,
): Promise<void> {
  const of = ofType(project, type);
  const statements = [
    sql`WITH mark AS (UPDATE fhirgraph_skip_type s SET built = built + 1 WHERE ${of} RETURNING 1)
      SELECT ${rollbackUnless(sql`EXISTS (SELECT 1 FROM mark)`)}`,
    sql`DELETE FROM fhirgraph_skip s WHERE ${of} AND ${rows}`,
    sql`DELETE FROM fhirgraph_skip_key s WHERE ${of} AND ${keys}`,
    sql`INSERT INTO fhirgraph_skip SELECT * FROM fhirgraph_made`,
    sql`INSERT INTO fhirgraph_skip_key SELECT * FROM fhirgraph_made_key`,
    // The made rows include all writes that this snapshot sees.
    sql`DELETE FROM fhirgraph_skip_written s WHERE ${of}`,
    sql`COMMIT`,
  ];
  await connection.write(new Sql(statements.map(withLiterals).join(';'), []));
}
