import { randomNumber } from '../../sql/random-number.js';
import { type Sql, sql } from '../../sql/sql.js';
import { arrayText } from './array.js';
import type { Run } from '../database/run.js';
import { prepared } from '../database/statements.js';

/**
 * The epoch is the sum of several random numbers, of which a commit replaces one: commits that change access at the same time
 * seldom wait for each other. It is replaced in the transaction of the write, so nobody sees one without the other.
 *
 * Older versions of this library count in these rows, beside newer ones.
 */
const ROWS = 16;
const PREFIX = 'access_epoch_';

/** Changes the epoch in a commit. */
export function nextAccessEpoch(): Sql {
  const name = `${PREFIX}${Math.floor(Math.random() * ROWS)}`;
  return sql`INSERT INTO fhirgraph_meta (name, value) VALUES (${name}, ${randomNumber(60)})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}

const NAMES = Array.from({ length: ROWS }, (_, index) => `${PREFIX}${index}`);

const READ_EPOCH = prepared(sql`SELECT coalesce(sum(value::bigint), 0)::text
  FROM fhirgraph_meta WHERE name = ANY (${arrayText(NAMES)})`);

export async function readAccessEpoch(run: Run): Promise<string> {
  const [row] = await run(READ_EPOCH);
  return row![0] as string;
}
