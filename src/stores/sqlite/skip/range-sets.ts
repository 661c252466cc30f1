import type { Criteria, LastUpdatedCriteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { lookupsByTable } from '../../sql/match-sql.js';
import { rowCondition } from '../../sql/conditions.js';
import { innerInstants, innerRangeOf, partWith, rangeOf, type ValueRange } from '../../sql/pages/value-range.js';
import { inTime, parameterKey, type RowScope } from '../../sql/rows.js';
import type { ConditionSet } from '../../sql/skip/condition-set.js';
import { allOf, anyOf, Sql, sql, type SqlValue, TRUE } from '../../sql/sql.js';
import { intervalScan } from '../pages/walk-bounds.js';
import type { Statements } from '../statements.js';
import { MAX_SCANNED, type ScannedSets } from './scanned-sets.js';
import type { SkipIndex } from './skip-index.js';
import { SEVERAL, SKIP_TUNING } from './skip-row.js';

/** Finds the sets of ranges: parts of an order. */
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

  /**
   * The granules of the order of a date or number that reach into a range, and what may match by another value.
   *
   * @param limit the most long intervals that are read
   */
  of(criteria: Criteria, parameter: string, limit = MAX_SCANNED): ConditionSet | undefined {
    const range = rangeOf(criteria, parameter);
    if (range === undefined) return undefined;
    const isOfTime = criteria.kind === 'last-updated';
    if (!isOfTime && !isOfIntervals(criteria)) return undefined;
    const order = this.#index.order({ parameter, descending: false }, this.#scope);
    if (order === undefined) return undefined;
    const { low, high } = range;
    const { starts } = order;
    const intervals = isOfTime ? undefined : this.#intervals(range, parameter, isOfDates(criteria), limit);
    const from = low === undefined || intervals === 'many' ? 0 : partWith(starts, low);
    const to = high === undefined ? starts.length - 1 : partWith(starts, high);
    const inner = criteria.kind === 'last-updated' ? innerInstants(criteria.test) : innerRangeOf(criteria.test);
    const lastLow = low === undefined ? from - 1 : partWith(starts, inner?.low ?? low);
    const firstHigh = high === undefined ? to + 1 : partWith(starts, inner?.high ?? high);
    const [set, sure] = [this.#index.emptySet(), this.#index.emptySet()];
    let exact = true;
    const add = (first: number, last: number, isEdge: boolean): void => {
      const matching = isEdge ? this.#matchingIn(first, last, criteria, starts) : undefined;
      if (matching !== undefined) return void matching.forEach((key) => sure.add(key));
      const isSure = !isEdge && inner !== undefined;
      if (first <= last && !isSure) exact = false;
      for (let granule = first; granule <= last; granule++) order.addTo(isSure ? sure : set, granule);
    };
    if (lastLow >= firstHigh) add(from, to, true);
    else {
      add(from, lastLow, true);
      add(lastLow + 1, firstHigh - 1, false);
      add(firstHigh, to, true);
    }
    if (intervals !== undefined && intervals !== 'many' && intervals.length > 0) {
      // A Range that ends where the searched one begins need not match, nor an interval that has to end before it.
      const isSure = inner !== undefined && isOfDates(criteria);
      if (!isSure) exact = false;
      for (const key of intervals) (isSure ? sure : set).add(key);
    }
    const key = isOfTime ? undefined : (parameterKey(this.#scope, parameter) as number);
    const several = key === undefined ? undefined : this.#index.setOf(key, SEVERAL);
    if (exact && (isOfTime || several?.count === 0)) return { set: sure, exact };
    set.unite(sure);
    if (several !== undefined) set.unite(several);
    return { set, exact: false, sure };
  }

  /** What matches by a value in some granules: at the end of a range many may have one value that does not. */
  #matchingIn(
    first: number,
    last: number,
    criteria: MatchCriteria | LastUpdatedCriteria,
    starts: readonly SqlValue[],
  ): readonly number[] | undefined {
    if (first > last || last - first >= SKIP_TUNING.maxTested) return undefined;
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

  #updatedIn(range: Sql, criteria: LastUpdatedCriteria): readonly number[] {
    const scope = { ...this.#scope, row: sql`y` };
    const current = sql`y.collection = ${scope.collection!} AND y.content IS NOT NULL`;
    const tests = [current, range, rowCondition(criteria, scope), inTime(sql`y.key`, scope)];
    return this.#statements.column(
      sql`SELECT y.key FROM resource y INDEXED BY resource_by_updated WHERE ${allOf(tests)}`,
    ) as number[];
  }

  /** Long intervals that may match by their end. */
  #intervals(
    { low, intervalsAfter }: ValueRange,
    parameter: string,
    ofDates: boolean,
    limit: number,
  ): readonly number[] | 'many' | undefined {
    if (low === undefined || intervalsAfter === undefined) return undefined;
    // Dates are whole milliseconds, and an interval must end after the searched one.
    const after = ofDates ? intervalsAfter + 1 : intervalsAfter;
    const scan = intervalScan(low, after, parameter, this.#scope);
    if (scan === undefined) return undefined;
    return this.#scanned.keys(scan, limit) ?? 'many';
  }
}

function isOfIntervals(criteria: Criteria): criteria is MatchCriteria {
  return criteria.kind === 'match' && ['date', 'number', 'quantity'].includes(criteria.test.kind);
}

function isOfDates(criteria: Criteria): boolean {
  return criteria.kind === 'match' && criteria.test.kind === 'date';
}
