import { orderTerms } from '../../sql/order.js';
import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import { allOf, anyOf, list, Sql, sql, TRUE, unionAll } from '../../sql/sql.js';
import { type Asked, firstWithTies, isBeyond, oneResource, pageOf } from '../scans/page-statement.js';

/**
 * Reads the matches of the narrowest condition, tests the others and sorts. Its rows are the number of that condition
 * and the text, in order; a single row without a text for an empty page, and without a number if every condition finds
 * too many.
 *
 * @param starts conditions with scans
 * @param tests the other conditions
 * @param look maximum rows of a scan
 * @param testOf how to test one of the starts
 */
export function collection(
  asked: Asked,
  starts: readonly Condition[],
  tests: readonly Sql[],
  look: number,
  testOf: (start: Condition) => Sql = ({ test }) => test,
): Sql {
  const limit = look === Infinity ? sql`` : sql`LIMIT ${number(look + 1)}`;
  const scans = starts.map(
    ({ scan }, index) => sql`${name('s', index)} (key) AS MATERIALIZED (SELECT * FROM (${scan!}) u ${limit})`,
  );
  const sizes = starts.map(
    (_, index) => sql`SELECT ${number(index)} AS c, (SELECT count(*) FROM ${name('s', index)}) AS size`,
  );
  const narrowest =
    look === Infinity
      ? sql`SELECT 0 AS c`
      : sql`SELECT (SELECT c FROM (${unionAll(sizes)}) n WHERE size <= ${number(look)} ORDER BY size, c LIMIT 1) AS c`;
  const keys = starts.map((_, index) => sql`SELECT key FROM ${name('s', index)} WHERE ${CHOSEN} = ${number(index)}`);
  // The scan of a condition finds only resources that pass its test.
  const others = starts.map((start, index) =>
    starts.length === 1 ? TRUE : anyOf([sql`${CHOSEN} = ${number(index)}`, testOf(start)]),
  );
  return sql`WITH ${list(scans)}, z AS MATERIALIZED (${narrowest}),
    k AS MATERIALIZED (SELECT DISTINCT key FROM (${unionAll(keys)}) u),
    t AS MATERIALIZED (${found(asked, [...others, ...tests])})
    SELECT z.c, p.content FROM z LEFT JOIN ${pageOf(asked, sql`t`, false)} ON TRUE WHERE ${asked.holds} ORDER BY p.n`;
}

const CHOSEN = sql`(SELECT c FROM z)`;

/** The key and the first sort value of each row that passes the tests. */
function found(asked: Asked, tests: readonly Sql[]): Sql {
  const { order, level } = asked;
  const { value } = orderTerms(order.keys.slice(level), order.scope)[0]!;
  // PERF: tests that need only the key come before the look-up of the resource.
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

/** PERF: a literal, so that the planner knows it even when it plans for all values. There are few such numbers. */
function number(value: number): Sql {
  return new Sql(String(value), []);
}
