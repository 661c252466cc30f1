import { orderTerms } from '../../sql/order.js';
import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import { allOf, anyOf, list, Sql, sql, TRUE, unionAll } from '../../sql/sql.js';
import type { RowScope } from '../../sql/rows.js';
import { type Asked, firstWithTies, isBeyond, oneResource, oneResourceOf, pageOf } from './page-statement.js';

/** The resources to test: the matches of the narrowest of some conditions. */
export interface Start {
  /** Conditions with scans. */
  readonly scans: readonly Condition[];
  /** Maximum rows of a scan. */
  readonly look: number;
}

/**
 * The page among the matches of the narrowest condition. Its rows are the number of that condition and the text, in order; a
 * single row without a text for an empty page, and without a number if every condition finds too many.
 */
export function collectedPage(asked: Asked, conditions: readonly Condition[], start: Start): Sql {
  const { beginning, tests } = among(conditions, start);
  return sql`WITH ${beginning}, t AS MATERIALIZED (${found(asked, tests)})
    SELECT z.c, p.content FROM z LEFT JOIN ${pageOf(asked, sql`t`)} ON TRUE WHERE ${asked.holds} ORDER BY p.n`;
}

/** Counts the matches of conditions in the same way. Its only value is null if every condition finds too many. */
export function collectedCount(scope: RowScope, holds: Sql, conditions: readonly Condition[], start: Start): Sql {
  const { beginning, tests } = among(conditions, start);
  const test = allOf(tests);
  const row = looksAtRow(test) ? sql`k k0 ${oneResourceOf(scope, sql`r0`, sql`k0.key`)}` : sql`k r0`;
  return sql`WITH ${beginning}
    SELECT CASE WHEN (SELECT c FROM z) IS NOT NULL THEN (SELECT count(*) FROM ${row} WHERE ${test}) END WHERE ${holds}`;
}

/** The keys to test as a table `k`, and the tests of the other conditions on its rows `r0`. */
function among(
  conditions: readonly Condition[],
  { scans, look }: Start,
): { readonly beginning: Sql; readonly tests: readonly Sql[] } {
  const limit = look === Infinity ? sql`` : sql`LIMIT ${number(look + 1)}`;
  const tables = scans.map(
    ({ scan }, index) => sql`${name('s', index)} (key) AS MATERIALIZED (SELECT * FROM (${scan!}) u ${limit})`,
  );
  const sizes = scans.map(
    (_, index) => sql`SELECT ${number(index)} AS c, (SELECT count(*) FROM ${name('s', index)}) AS size`,
  );
  const narrowest =
    look === Infinity
      ? sql`SELECT 0 AS c`
      : sql`SELECT (SELECT c FROM (${unionAll(sizes)}) n WHERE size <= ${number(look)} ORDER BY size, c LIMIT 1) AS c`;
  const keys = scans.map((_, index) => sql`SELECT key FROM ${name('s', index)} WHERE ${CHOSEN} = ${number(index)}`);
  // The scan of a condition finds only resources that pass its test.
  const tests = conditions.map((one) => {
    const index = scans.indexOf(one);
    if (index < 0) return one.test;
    return scans.length === 1 ? TRUE : anyOf([sql`${CHOSEN} = ${number(index)}`, one.test]);
  });
  return {
    beginning: sql`${list(tables)}, z AS MATERIALIZED (${narrowest}),
      k AS MATERIALIZED (SELECT DISTINCT key FROM (${unionAll(keys)}) u)`,
    tests,
  };
}

const CHOSEN = sql`(SELECT c FROM z)`;

/** The key and the first sort value of each row that passes the tests. */
function found(asked: Asked, tests: readonly Sql[]): Sql {
  const { order } = asked;
  const { value } = orderTerms(order.keys, order.scope)[0]!;
  // Tests that need only the key come before the look-up of the resource.
  const ofKey = allOf(tests.filter((one) => !looksAtRow(one)));
  const ofRow = allOf(tests.filter(looksAtRow));
  const passing = ofKey === TRUE ? sql`k` : sql`(SELECT r0.key FROM k r0 WHERE ${ofKey} OFFSET 0)`;
  const row = looksAtRow(sql`${ofRow} ${value}`)
    ? sql`${passing} k0 ${oneResource(sql`r0`, sql`k0.key`, order)}`
    : sql`${passing} r0`;
  const rows = sql`SELECT r0.key, ${value} AS v FROM ${row} WHERE ${ofRow} OFFSET 0`;
  return sql`SELECT r0.key, r0.v FROM (${rows}) r0 WHERE ${isBeyond(asked, sql`r0.key`)} ${firstWithTies(asked, sql`r0.v`)}`;
}

function name(letter: string, index: number): Sql {
  return new Sql(`${letter}${index}`, []);
}

/** A literal, so that the planner knows it even when it plans for all values. There are few such numbers. */
function number(value: number): Sql {
  return new Sql(String(value), []);
}
