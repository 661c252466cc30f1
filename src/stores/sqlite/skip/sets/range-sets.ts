import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import { TABLE_NAMES } from '../../../sql/index-tables.js';
import { lookupsByTable } from '../../../sql/match-sql.js';
import { rowCondition } from '../../../sql/conditions.js';
import { rangeOf } from '../../../sql/pages/value-range.js';
import { inTime, parameterKey, type RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { isByStart, isOpenAbove, isOpenBelow, isRange, type RangeCriteria } from '../../../sql/skip/range-tests.js';
import { allOf, anyOf, Sql, sql, type SqlValue, TRUE } from '../../../sql/sql.js';
import type { Statements } from '../../database/statements.js';
import { longIntervals } from './long-intervals.js';
import { granulesInRange, runsOf } from '../../../sql/skip/range-granules.js';
import { MAX_SCANNED, type ScannedSets } from './scanned-sets.js';
import type { SkipIndex, SkipOrderKeys } from '../read/skip-index.js';
import { SEVERAL, SKIP_TUNING } from '../../rows/skip-row.js';

/**
 * Finds the sets of ranges by the granules of an order.
 *
 * In a granule within the range every value matches, except long intervals that end outside it. At the ends of the
 * range the values of a granule are tested, unless very many resources have the same value. Long intervals are few, so
 * they are read: those that match although they begin before the range, and those that do not match because of their
 * end.
 *
 * For a resource with several values, an order has one of them. The largest decides a range without an upper end; the
 * smallest mostly decides a range without a lower end.
 */
export class RangeSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #statements: Statements;
  readonly #scanned: ScannedSets;

  constructor(index: SkipIndex, scope: RowScope, statements: Statements, scanned: ScannedSets) {
    this.#index = index;
    this.#scope = scope;
    this.#statements = statements;
    this.#scanned = scanned;
  }

  /** @param limit maximum long intervals to read; for a count, also maximum resources with one value at an end */
  of(criteria: Criteria, parameter: string, limit = MAX_SCANNED): ConditionSet | undefined {
    const range = isRange(criteria) ? rangeOf(criteria, parameter) : undefined;
    if (!isRange(criteria) || range === undefined) return undefined;
    const order = this.#index.order({ parameter, descending: isOpenAbove(criteria.test) }, this.#scope);
    const others = this.#byOthers(criteria);
    if (order === undefined || others === undefined) return undefined;
    const { reaching, leaving } = longIntervals(
      criteria,
      this.#index,
      order,
      others,
      this.#scope,
      this.#scanned,
      limit,
    );
    const { all, short, some } = granulesInRange(criteria, order, range, reaching === undefined);
    const [sure, open] = [this.#index.emptySet(), this.#index.emptySet()];
    for (const granule of short) order.addTo(leaving === undefined ? open : sure, granule);
    if (leaving !== undefined) sure.subtract(leaving);
    for (const granule of all) order.addTo(sure, granule);
    if (reaching !== undefined) sure.unite(reaching);
    for (const [first, last] of runsOf(some)) {
      const matching = this.#isShort(first, last, order, limit)
        ? this.#matchingIn(first, last, criteria, order.starts)
        : undefined;
      for (const key of matching ?? []) sure.add(key);
      if (matching === undefined) for (let granule = first; granule <= last; granule++) order.addTo(open, granule);
    }
    open.unite(others).subtract(sure);
    return open.count === 0 ? { set: sure, exact: true } : { set: open.unite(sure), exact: false, sure };
  }

  /** Whether more resources than this certainly match, so that a scan limited to that many is of no use. */
  hasMore(criteria: MatchCriteria, than: number): boolean {
    const range = isRange(criteria) ? rangeOf(criteria, criteria.parameter) : undefined;
    const order =
      range &&
      this.#index.order({ parameter: criteria.parameter, descending: isOpenAbove(criteria.test) }, this.#scope);
    if (range === undefined || order === undefined) return false;
    let left = than;
    for (const granule of granulesInRange(criteria, order, range, false).all) {
      left -= order.atLeast(granule);
      if (left < 0) return true;
    }
    return false;
  }

  /** The resources that may match by another value than the one in the order. */
  #byOthers(criteria: RangeCriteria): KeySet | undefined {
    if (criteria.kind === 'last-updated') return this.#index.emptySet();
    const { parameter, test } = criteria;
    if (isOpenAbove(test) || (isOpenBelow(test) && isByStart(test))) return this.#index.emptySet();
    return this.#index.setOf(parameterKey(this.#scope, parameter) as number, SEVERAL);
  }

  /** Whether the values of granules can be tested in some milliseconds. */
  #isShort(first: number, last: number, order: SkipOrderKeys, limit: number): boolean {
    if (last - first >= SKIP_TUNING.maxTested) return false;
    const ties = order.ties.filter((tie) => tie >= first && tie <= last);
    const rows = ties.reduce((sum, tie) => sum + order.keysOf(tie).length, 0);
    return rows <= (limit > MAX_SCANNED ? limit : SKIP_TUNING.maxTied);
  }

  /** The resources that match by a value in some granules. */
  #matchingIn(
    first: number,
    last: number,
    criteria: RangeCriteria,
    starts: readonly SqlValue[],
  ): readonly number[] | undefined {
    const between = (value: Sql): Sql =>
      allOf([
        first === 0 ? TRUE : sql`${value} >= ${starts[first]!}`,
        last + 1 === starts.length ? TRUE : sql`${value} < ${starts[last + 1]!}`,
      ]);
    if (criteria.kind === 'last-updated') return this.#updatedIn(between(sql`y.updated`), criteria);
    const { parameter } = criteria;
    const [lookups, ...others] = lookupsByTable([criteria], this.#scope);
    if (lookups === undefined || others.length > 0) return undefined;
    const [table, conditions] = lookups;
    const tests = [
      sql`x.parameter = ${parameterKey(this.#scope, parameter)!} AND x.grp = 0`,
      between(sql`x.low`),
      anyOf(conditions.map(({ condition }) => condition)),
      inTime(sql`x.resource`, this.#scope),
    ];
    // PERF: a value in the order of the index takes a tenth of the time of a test of its resource.
    return this.#statements.column(sql`SELECT x.resource
      FROM ${TABLE_NAMES[table]} x INDEXED BY ${new Sql(`${table}_by_value`, [])} WHERE ${allOf(tests)}`) as number[];
  }

  #updatedIn(range: Sql, criteria: RangeCriteria): readonly number[] {
    const scope = { ...this.#scope, row: sql`y` };
    const current = sql`y.collection = ${scope.collection!} AND y.content IS NOT NULL`;
    const tests = [current, range, rowCondition(criteria, scope), inTime(sql`y.key`, scope)];
    return this.#statements.column(
      sql`SELECT y.key FROM resource y INDEXED BY resource_by_updated WHERE ${allOf(tests)}`,
    ) as number[];
  }
}
