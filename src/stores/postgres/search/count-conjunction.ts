import type { Criteria } from '../../../search/criteria/criteria.js';
import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import type { RowScope } from '../../sql/rows.js';
import { allOf, anyOf, FALSE, list, Sql, sql, TRUE, unionAll } from '../../sql/sql.js';
import { countExpression } from './count.js';
import { CountLists } from './count-lists.js';
import { countInSets } from './count-sets.js';
import { allOfType, CountTrees, longestFirst } from './count-trees.js';
import type { Reader, Run } from '../database/run.js';
import { areLinked, areSparse, isBrief } from '../scans/far.js';
import { presenceScan } from '../scans/own-scans.js';
import { oneResourceOf } from '../scans/page-statement.js';
import type { SkipSource } from '../skip/read/skip-state.js';
import { Sizes } from '../scans/sizes.js';
import { TUNING } from '../scans/tuning.js';

/**
 * Counts the resources that meet conditions.
 *
 * - **few**: if a scan finds few rows, the other conditions are tested on each of them. The first such look is one
 *   statement.
 * - **sets**: the skip index has the resources of each condition: see count-sets.ts.
 * - **short**: one index gives the number.
 * - **listed**: each match of one condition is looked up in lists of the matches of the others: see count-lists.ts.
 *   This reads no rows of a table, which takes a hundred times as long in an order that is not the table's own.
 */
export class ConjunctionCount {
  readonly #scope: RowScope;
  readonly #holds: { readonly one: Sql; readonly many: Sql };
  readonly #sizes = new Sizes();
  readonly #trees: CountTrees;
  readonly #skips: SkipSource | undefined;

  /**
   * @param holds conditions that end a statement if the index has changed: `one` for a statement in a single process of
   * the server, `many` for one that may run in several
   * @param skips undefined: without skip indexes
   */
  constructor(scope: RowScope, holds: { readonly one: Sql; readonly many: Sql }, skips?: SkipSource) {
    this.#scope = scope;
    this.#holds = holds;
    this.#skips = skips;
    this.#trees = new CountTrees(scope, this.#sizes);
  }

  async count(
    criteria: Criteria | undefined,
    conditions: readonly Condition[],
    { run, snapshot }: Reader,
  ): Promise<number> {
    if (conditions.some(({ test }) => test === FALSE)) return 0;
    const isLong = this.#skips !== undefined && areSparse(conditions);
    const few = isLong ? undefined : await this.#few(conditions, run);
    return few ?? snapshot((inSnapshot) => this.#count(criteria, conditions, inSnapshot));
  }

  /** The statements of an explanation: of few rows, and of many. */
  statements(criteria: Criteria, conditions: readonly Condition[]): readonly Sql[] {
    const scans = directScans(conditions);
    const broad = this.#short(criteria) ?? this.#listed(conditions);
    return scans.length === 0 ? [broad] : [this.#ofFew(scans, conditions, TUNING.looks[0]!), broad];
  }

  async #few(conditions: readonly Condition[], run: Run): Promise<number | undefined> {
    const scans = directScans(this.#skips === undefined ? conditions : conditions.filter(isBrief));
    const [look] = TUNING.looks as readonly [number];
    if (scans.length === 0 || look === Infinity) return undefined;
    const reach = areLinked(conditions) ? Math.ceil(look / TUNING.rowsPerFar) : look;
    const [row] = await run(this.#ofFew(scans, conditions, reach));
    return row![0] === null ? undefined : Number(row![0]);
  }

  async #count(criteria: Criteria | undefined, conditions: readonly Condition[], run: Run): Promise<number> {
    const inSets = this.#skips && (await countInSets(conditions, this.#scope, this.#skips, this.#holds.one, run));
    if (inSets !== undefined) return inSets;
    const short = this.#short(criteria);
    if (short !== undefined) return countOf(await run(short))!;
    const presence = presenceScan(conditions, this.#scope);
    const scanned = [...conditions, ...(presence === undefined ? [] : [presence])];
    if (scanned.length > 1) {
      const [shortest] = await this.#sizes.upTo(TUNING.maxCollected, scanned, run);
      if (shortest !== undefined) return countOf(await run(this.#ofFew([shortest], conditions, Infinity)))!;
    }
    const compared = [...(scanned.length > 1 ? scanned : []), ...this.#trees.parts(conditions)];
    if (compared.length > 1) await this.#sizes.upTo(TUNING.countLook, compared, run);
    const counted = countOf(await run(this.#listed(conditions)));
    if (counted !== null) return counted;
    // The lists would take too much of the server's memory.
    const { start = { scan: allOfType(this.#scope), test: TRUE } } = longestFirst(conditions, this.#sizes);
    return countOf(await run(this.#ofFew([start], conditions, Infinity)))!;
  }

  #short(criteria: Criteria | undefined): Sql | undefined {
    const short = criteria && countExpression(criteria, this.#scope);
    return short && sql`SELECT ${short} WHERE ${this.#holds.many}`;
  }

  /** The matches among the rows of the shortest scan, tested one by one; null if all scans are longer. */
  #ofFew(scans: readonly Condition[], conditions: readonly Condition[], look: number): Sql {
    const limit = look === Infinity ? sql`` : sql`LIMIT ${look + 1}`;
    const lists = scans.map(
      ({ scan }, index) => sql`s${literal(index)} (key) AS MATERIALIZED (SELECT * FROM (${scan!}) u ${limit})`,
    );
    const sizes = scans.map(
      (_, index) => sql`SELECT ${literal(index)} AS c, (SELECT count(*) FROM s${literal(index)}) AS size`,
    );
    const fits = look === Infinity ? TRUE : sql`size <= ${look}`;
    const keys = scans.map(
      (_, index) => sql`SELECT key FROM s${literal(index)} WHERE (SELECT c FROM z) = ${literal(index)}`,
    );
    const tests = conditions.map((one) => {
      const index = scans.indexOf(one);
      if (index < 0) return one.test;
      return scans.length === 1 ? TRUE : anyOf([sql`(SELECT c FROM z) = ${literal(index)}`, one.test]);
    });
    const test = allOf(tests);
    const row = looksAtRow(test) ? sql`k k0 ${oneResourceOf(this.#scope, sql`r0`, sql`k0.key`)}` : sql`k r0`;
    return sql`WITH ${list(lists)},
      z AS MATERIALIZED (SELECT c FROM (${unionAll(sizes)}) n WHERE ${fits} ORDER BY size, c LIMIT 1),
      k AS MATERIALIZED (SELECT DISTINCT key FROM (${unionAll(keys)}) u)
      SELECT CASE WHEN EXISTS (SELECT 1 FROM z) THEN (SELECT count(*) FROM ${row} WHERE ${test}) END WHERE ${this.#holds.one}`;
  }

  /**
   * Looks up each row of the longest scan in lists of the matches of the other conditions, which are hashed once. Null
   * if a list is too long for the memory.
   */
  #listed(conditions: readonly Condition[]): Sql {
    const lists = new CountLists();
    const known = conditions.map((one) => this.#trees.withScan(one, lists));
    const { start, others, rest } = longestFirst(known, this.#sizes);
    const tests = [
      ...others.map(({ scan }) => lists.has(scan!)),
      ...rest.map((one) => this.#trees.lacks(one, lists) ?? one.test),
    ];
    const counted = this.#counted(start, allOf(tests));
    return lists.around(counted, this.#holds.one);
  }

  #counted(start: Condition | undefined, where: Sql): Sql {
    const keys = sql`(${start?.scan ?? allOfType(this.#scope)})`;
    const row = looksAtRow(where)
      ? sql`${keys} k0 (key) ${oneResourceOf(this.#scope, sql`r0`, sql`k0.key`)}`
      : sql`${keys} r0 (key)`;
    if (start === undefined || start.unique === true) return sql`SELECT count(*) FROM ${row} WHERE ${where}`;
    return sql`SELECT count(*) FROM (SELECT DISTINCT r0.key FROM ${row} WHERE ${where}) d`;
  }
}

function directScans(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter((one) => one.scan !== undefined && one.direct === true);
}

function countOf(rows: readonly (readonly unknown[])[]): number | null {
  const [value] = rows[0]!;
  return value === null ? null : Number(value);
}

function literal(index: number): Sql {
  return new Sql(String(index), []);
}
