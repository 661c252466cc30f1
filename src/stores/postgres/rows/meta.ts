import { type Sql, sql } from '../../sql/sql.js';
import { arrayText } from './array.js';
import type { Row } from '../database/lent-connection.js';

/** Runs statements: a connection, or a pool for independent statements. */
export interface Runner {
  run(statement: Sql): Promise<readonly Row[]>;
}

/** The values that `fhirgraph_meta` holds under these names. */
export async function readMeta(runner: Runner, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await runner.run(sql`SELECT name, value FROM fhirgraph_meta WHERE name = ANY (${arrayText(names)})`);
  return new Map(rows.map(([name, value]) => [name as string, value as string]));
}

export async function setMeta(runner: Runner, values: { readonly [name: string]: string }): Promise<void> {
  const entries = Object.entries(values);
  await runner.run(sql`INSERT INTO fhirgraph_meta (name, value)
    SELECT * FROM unnest(${arrayText(entries.map(([name]) => name))}::text[], ${arrayText(entries.map(([, value]) => value))}::text[])
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
}
