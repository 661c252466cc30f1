import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';
import { inTime } from '../../sql/rows.js';
import { allOf, type Sql, sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import type { Statements } from '../statements.js';
import type { OrderIndex } from './order-index.js';
import { beyondValue, looksAtRow } from './stretch.js';
import { TUNING } from './tuning.js';

/** The first rows of a scan, in the order of an index, among those that pass the tests. */
export interface CandidateSearch {
  readonly scan: Sql;
  readonly tests: readonly Sql[];
  readonly order: PageOrder;
  readonly level: number;
  readonly index: OrderIndex;
  readonly need: number;
  readonly place: PagePosition | undefined;
}

/**
 * Reduces a scan to the few rows that can be on the page: those up to its last value of the first key. Undefined if that
 * would not be shorter.
 *
 * PERF: reading the value of one key takes a fifth of the time of reading everything that a page needs of a row.
 */
export function candidateScan(search: CandidateSearch, statements: Statements): Sql | undefined {
  const { order, level, index, need, place } = search;
  const { backwards } = order;
  const at = place?.values[0];
  // Resources without a value come last, so a page that is found from its end may begin with them.
  if (need > TUNING.maxCandidates || at === null || (at === undefined && backwards)) return undefined;
  const falling = order.keys[level]!.descending !== backwards;
  const after = at === undefined ? TRUE : beyondValue(VALUE, at, falling);
  const beyond = at === undefined || backwards ? after : sql`(${after} OR w.value IS NULL)`;
  const limit = 4 * need + TUNING.moreCandidates;
  const rows = statements.all(sql`SELECT w.key, w.value FROM (${valuesOf(search)}) w WHERE ${beyond}
    ORDER BY w.value ${falling ? sql`DESC` : sql`ASC`} NULLS LAST LIMIT ${limit}`) as readonly Candidate[];
  const ties = at === undefined || index.unique ? [] : [withValues(search, sql`w.value = ${at}`)];
  if (rows.length < limit) return unionAll([keysOf(rows), ...ties]);
  const last = [...new Map(rows).values()][need - 1];
  if (last === undefined || last === null) return undefined;
  if (rows.at(-1)![1] === last) {
    const upTo = allOf([after, sql`w.value ${falling ? sql`>=` : sql`<=`} ${last}`]);
    return unionAll([byId(search, upTo, falling, statements) ?? withValues(search, upTo), ...ties]);
  }
  const end = rows.findLastIndex(([, value]) => value === last);
  return unionAll([keysOf(rows.slice(0, end + 1)), ...ties]);
}

/**
 * The first rows by the key and the id, if more rows have one value than fit on the page. Undefined if another key comes
 * between the two, or rows repeat too often.
 */
function byId(search: CandidateSearch, upTo: Sql, falling: boolean, statements: Statements): Sql | undefined {
  const { order, level, need } = search;
  const [next] = order.keys.slice(level + 1);
  if (next?.parameter !== '_id') return undefined;
  const limit = 4 * need + TUNING.moreCandidates;
  const isFalling = next.descending !== order.backwards;
  const rows =
    statements.all(sql`SELECT w.key, w.value FROM (${valuesOf(search)}) w CROSS JOIN resource m ON m.key = w.key
    WHERE ${upTo} ORDER BY w.value ${falling ? sql`DESC` : sql`ASC`}, m.id ${isFalling ? sql`DESC` : sql`ASC`}
    LIMIT ${limit}`) as readonly Candidate[];
  return rows.length < limit || new Map(rows).size >= need ? keysOf(rows) : undefined;
}

type Candidate = readonly [key: number, value: SqlValue];

function keysOf(rows: readonly Candidate[]): Sql {
  return sql`SELECT value FROM json_each(${JSON.stringify(rows.map(([key]) => key))})`;
}

const VALUE = { value: sql`w.value` };

function withValues(search: CandidateSearch, condition: Sql): Sql {
  return sql`SELECT w.key FROM (${valuesOf(search)}) w WHERE ${condition}`;
}

/** The rows of the scan that pass, as `key` and `value`. */
function valuesOf({ scan, tests, order, index }: CandidateSearch): Sql {
  const passes = allOf([inTime(sql`r0.key`, order.scope), ...tests]);
  const from = looksAtRow(allOf([index.valueOf, ...tests]))
    ? sql`s CROSS JOIN resource r0 ON r0.key = s.key`
    : sql`s AS r0`;
  // PERF: the LIMIT keeps the database from working the value out again for each condition on it.
  return sql`WITH s (key) AS (${scan})
    SELECT r0.key AS key, ${index.valueOf} AS value FROM ${from} WHERE ${passes} LIMIT -1`;
}
