import { partWith } from '../../sql/pages/value-range.js';
import { allOf, sql, type Sql, type SqlValue } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import type { Run } from '../database/run.js';
import type { SkipOrderKeys } from '../skip/read/order-keys.js';
import type { SkipIndex } from '../skip/read/skip-index.js';
import type { SkipKey } from '../scans/order-index.js';
import { type Asked, oneResource } from '../scans/page-statement.js';

/** A resource that was written since the skip index was built, with its current place. */
export interface Placed {
  readonly key: string;
  readonly value: SqlValue;
  readonly granule: number;
}

/** Finds the keys of the resources written since the build. @param tests only those that pass; undefined: all */
export async function writtenKeys(
  index: SkipIndex,
  asked: Asked,
  tests: readonly Sql[] | undefined,
  run: Run,
): Promise<readonly string[]> {
  if (index.pending === 0) return [];
  const all = sql`SELECT DISTINCT u.resource FROM (${index.written}) u`;
  const rows = await run(tests === undefined ? all : matching(asked, all, [...tests, asked.holds]));
  return rows.map(([key]) => key as string);
}

/** Finds the current granules of resources written since the build. */
export async function placed({ asked, index, order, written }: PlacedIn, run: Run): Promise<readonly Placed[]> {
  if (written.length === 0) return [];
  const { starts } = order;
  const rows = await run(sql`SELECT r0.key, ${index.valueOf} FROM (${keysIn(written)}) w (key)
    ${oneResource(sql`r0`, sql`w.key`, asked.order)}`);
  return rows.map(([key, read]) => {
    const own = read === null ? null : index.isNumber ? Number(read) : (read as string);
    return { key: key as string, value: own, granule: own === null ? starts.length : partWith(starts, own) };
  });
}

interface PlacedIn {
  readonly asked: Asked;
  /** The index of the first key of the order. */
  readonly index: SkipKey;
  readonly order: SkipOrderKeys;
  readonly written: readonly string[];
}

/** Selects the keys whose resources pass tests. */
export function matching({ order }: Asked, keys: Sql, tests: readonly Sql[]): Sql {
  return sql`SELECT r0.key FROM (${keys}) w (key) ${oneResource(sql`r0`, sql`w.key`, order)}
    WHERE ${allOf([sql`r0.content IS NOT NULL`, ...tests])}`;
}

/** Selects some keys. */
export function keysIn(keys: readonly string[]): Sql {
  return sql`SELECT w.key FROM unnest(${arrayText(keys)}::uuid[]) w(key)`;
}
