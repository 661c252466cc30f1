import { type Sql, sql } from '../../sql/sql.js';
import { KEYS_IN_ROW, referenceBytes } from '../../sql/skip/references.js';
import { arrayText } from '../array.js';
import type { Runner } from '../meta.js';
import { KEYS_TOGETHER, ORDER, type ReferencesHead, TARGETS } from './skip-row.js';

/** A row of the table. */
export interface Row {
  readonly sort: number;
  readonly subject: number;
  readonly value: string;
  readonly data: string;
}

/**
 * The references of some parameters: the keys of their targets are written here, the other rows are given back.
 *
 * @param of two columns: the project and the type
 */
export async function* referenceRows(
  runner: Runner,
  project: Sql,
  of: Sql,
  parameters: readonly number[],
): AsyncGenerator<Row> {
  const keys = sql`${arrayText(parameters)}::bigint[]`;
  await runner.run(
    sql`CREATE TEMP TABLE fhirgraph_pair (parameter bigint NOT NULL, target uuid NOT NULL, n int NOT NULL, t int NOT NULL) ON COMMIT DROP`,
  );
  await runner.run(sql`INSERT INTO fhirgraph_pair SELECT x.parameter, x.target, m.n,
      (dense_rank() OVER (PARTITION BY x.parameter ORDER BY x.target) - 1)::int AS t
    FROM reference x JOIN fhirgraph_number m ON m.resource = x.resource
    WHERE x.project = ${project} AND x.grp = 0 AND x.parameter = ANY (${keys})`);
  await runner.run(sql`INSERT INTO fhirgraph_skip (project, type, sort, subject, value, data)
    SELECT ${of}, d.parameter, ${TARGETS}::bigint, 'k' || right('0000' || d.row, 5),
      encode(string_agg(uuid_send(d.target), '' ORDER BY d.t), 'base64')
    FROM (SELECT DISTINCT parameter, target, t, t / ${KEYS_TOGETHER}::int AS row FROM fhirgraph_pair) d GROUP BY d.parameter, d.row`);
  await runner.run(sql`ANALYZE fhirgraph_pair`);
  const heads = await runner.run(sql`SELECT parameter, max(t) + 1 FROM fhirgraph_pair GROUP BY 1 ORDER BY 1`);
  for (const [parameter, targets] of heads) {
    const sort = Number(parameter);
    const head: ReferencesHead = { targets: Number(targets) };
    yield { sort, subject: TARGETS, value: ORDER, data: JSON.stringify(head) };
    const rows = await runner.run(sql`SELECT n / ${KEYS_IN_ROW}::int, ${numbers(sql`n`)}, ${numbers(sql`t`)}
      FROM fhirgraph_pair WHERE parameter = ${sort}::bigint GROUP BY 1`);
    for (const [row, sources, places] of rows as readonly (readonly [unknown, string, string])[]) {
      const first = Number(row) * KEYS_IN_ROW;
      const bytes = referenceBytes(
        Array.from(numbersIn(sources), (number) => number - first),
        Array.from(numbersIn(places)),
      );
      yield { sort, subject: TARGETS, value: String(row), data: textOf(bytes) };
    }
  }
  await runner.run(sql`DROP TABLE fhirgraph_pair`);
}

/** The numbers of a group, each in four bytes. */
export function numbers(column: Sql): Sql {
  return sql`encode(string_agg(int4send(${column}), ''), 'base64')`;
}

export function numbersIn(data: string): Int32Array {
  const bytes = Buffer.from(data, 'base64').swap32();
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
