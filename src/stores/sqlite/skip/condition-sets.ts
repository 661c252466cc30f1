import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { lookupsByTable } from '../../sql/match-sql.js';
import type { Condition } from '../../sql/pages/condition.js';
import { innerRangeOf, partWith, rangeOf, type ValueRange } from '../../sql/pages/value-range.js';
import { planRows } from '../../sql/plan.js';
import { inTime, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, anyOf, Sql, sql, type SqlValue, TRUE } from '../../sql/sql.js';
import { intervalScan } from '../pages/walk-bounds.js';
import type { Statements } from '../statements.js';
import { type AskedValues, askedValues } from '../../sql/skip/asked-values.js';
import { waysOfComposite } from '../../sql/skip/composite-parts.js';
import {
  type ConditionSet,
  intersection,
  type KnownSets,
  type MemberCondition,
  setOfCriteria,
  union,
} from '../../sql/skip/condition-set.js';
import type { KeySet } from '../../sql/skip/key-set.js';
import { equalTestOf, setOfOthers } from '../../sql/skip/other-values.js';
import { countOfShapes, shapeScan } from '../shapes.js';
import { type FindsSets, LinkedSets } from './linked-sets.js';
import type { SkipIndex } from './skip-index.js';
import { PRESENCE, SEVERAL, SKIP_TUNING } from './skip-row.js';

/** Finds the sets of conditions: those that the skip index keeps, parts of its orders, and short scans. */
export class ConditionSets implements KnownSets, FindsSets {
  readonly index: SkipIndex;
  readonly #scope: RowScope;
  readonly #statements: Statements;
  readonly #linked: LinkedSets;
  readonly #known = new Map<Condition, ConditionSet | undefined>();

  constructor(index: SkipIndex, scope: RowScope, statements: Statements, linked: LinkedSets) {
    this.index = index;
    this.#scope = scope;
    this.#statements = statements;
    this.#linked = linked;
  }

  /** Undefined where it takes too long to find. */
  of(condition: MemberCondition): ConditionSet | undefined {
    if (!this.#known.has(condition)) this.#known.set(condition, this.#find(condition));
    return this.#known.get(condition);
  }

  /** What exactly meets the condition. Undefined where that takes too long to find. */
  exactOf(condition: Condition): ConditionSet | undefined {
    const { criteria } = condition;
    if (criteria?.kind === 'match' && condition.shared === undefined) {
      const short = exact(this.#held(criteria)) ?? this.#scannedFor(criteria, SKIP_TUNING.maxLookedUp);
      // Another range of an order would be for nothing.
      const { test } = criteria;
      if (short !== undefined || (innerRangeOf(test) ?? equalTestOf(test)) === undefined) return short;
    }
    return exact(this.of(condition));
  }

  scanned({ scan, direct }: Condition): ConditionSet | undefined {
    return scan === undefined || direct !== true ? undefined : this.#scanned(scan);
  }

  #find({ members, shared, criteria, scan, direct, reads }: MemberCondition): ConditionSet | undefined {
    if (members !== undefined) return { set: members, exact: true };
    const held = shared && this.index.setOf(shared.parameter, shared.value);
    if (shared !== undefined && held !== undefined) {
      return { set: held, exact: shared.suffices || !this.index.hasSeveral(shared.parameter) };
    }
    const found = criteria && setOfCriteria(criteria, this);
    if (found !== undefined || scan === undefined) return found;
    return direct === true || (reads ?? Infinity) <= MAX_READ ? this.#scanned(scan) : undefined;
  }

  get all(): KeySet {
    return this.index.all;
  }

  emptySet(): KeySet {
    return this.index.emptySet();
  }

  setOf(criteria: Criteria): ConditionSet | undefined {
    this.index.check();
    switch (criteria.kind) {
      case 'match':
        return (
          this.#held(criteria) ??
          this.#scannedFor(criteria, SKIP_TUNING.maxLookedUp) ??
          this.#inRange(criteria, criteria.parameter) ??
          this.#others(criteria)
        );
      case 'last-updated':
        return this.#inRange(criteria, '_lastUpdated');
      case 'id':
        return this.#scannedFor(criteria, SKIP_TUNING.maxLookedUp);
      case 'composite': {
        const ways = waysOfComposite(criteria, this.#scope.dialect.model, this.#scope.type);
        const found = union(ways.map((parts) => intersection(parts.map((one) => one && this.setOf(one)))));
        // The values may be in different groups, also of what surely has all of them.
        return found && { set: found.set, exact: false };
      }
      case 'has':
        return this.#linked.having(criteria);
      case 'chain':
        return this.#linked.chained(criteria);
      default:
        return undefined;
    }
  }

  /** The set of codes or a target that many resources have. */
  #held({ parameter, test }: MatchCriteria): ConditionSet | undefined {
    const asked = askedValues(test, this.#scope);
    const key = parameter.includes('$') ? undefined : (parameterKey(this.#scope, parameter) as number | undefined);
    if (asked === undefined || key === undefined) return undefined;
    const { exact } = asked;
    // One that is not kept is not frequent, and has to be looked up.
    return union(
      this.#valuesOf(asked).map((value) => {
        const set = value === undefined ? undefined : this.index.setOf(key, value);
        return set && { set, exact };
      }),
    );
  }

  #valuesOf(asked: AskedValues): readonly (string | number | undefined)[] {
    if ('codes' in asked) return asked.codes;
    const { type, id } = asked.target;
    const [key] = (this.#statements.read(FIND_TARGET).get(this.#scope.project, type, id) ?? []) as [number?];
    return [key];
  }

  present(parameter: string): KeySet | undefined {
    if (parameter.includes('$')) return undefined;
    const key = parameterKey(this.#scope, parameter) as number | undefined;
    // What has no row had no value in any resource.
    return (key === undefined ? undefined : this.index.setOf(key, PRESENCE)) ?? this.index.emptySet();
  }

  /** What has another value than those that are asked for. */
  #others({ parameter, test, ...criteria }: MatchCriteria): ConditionSet | undefined {
    const opposite = equalTestOf(test);
    const key = opposite && (parameterKey(this.#scope, parameter) as number | undefined);
    const present = key === undefined ? undefined : this.present(parameter);
    if (opposite === undefined || key === undefined || present === undefined) return undefined;
    const equal = this.setOf({ ...criteria, parameter, test: opposite.test });
    return equal && setOfOthers(present, equal, opposite.isWhole ? this.#several(key) : undefined);
  }

  /** The resources with several values of a parameter; undefined where they are many. */
  #several(parameter: number): KeySet | undefined {
    const collection = this.#scope.collection as number;
    const [count] = this.#statements.get(countOfShapes(collection, parameter, 'several')) as [number];
    if (count > MAX_SCANNED) return undefined;
    return count === 0 ? this.emptySet() : this.#scanned(shapeScan(collection, parameter, 'several'))?.set;
  }

  #scannedFor(criteria: Criteria, limit: number): ConditionSet | undefined {
    const { scan, residual } = planRows(criteria, this.#scope);
    return scan === undefined || residual !== TRUE ? undefined : this.#scanned(scan, limit);
  }

  #scanned(scan: Sql, limit = MAX_SCANNED): ConditionSet | undefined {
    const keys = this.#statements.column(sql`SELECT * FROM (${scan}) LIMIT ${limit + 1}`) as readonly number[];
    if (keys.length > limit) return undefined;
    const set = this.index.emptySet();
    for (const key of keys) set.add(key);
    return { set, exact: true };
  }

  /** The granules of the order of a date or number that reach into a range, and what may match by another value. */
  #inRange(criteria: Criteria, parameter: string): ConditionSet | undefined {
    const range = rangeOf(criteria, parameter);
    if (range === undefined) return undefined;
    const isOfTime = criteria.kind === 'last-updated';
    if (!isOfTime && (criteria.kind !== 'match' || !['date', 'number', 'quantity'].includes(criteria.test.kind))) {
      return undefined;
    }
    const order = this.index.order({ parameter, descending: false }, this.#scope);
    if (order === undefined) return undefined;
    const { low, high } = range;
    const { starts } = order;
    const intervals = isOfTime ? undefined : this.#intervals(range, parameter, isOfDates(criteria));
    const from = low === undefined || intervals === 'many' ? 0 : partWith(starts, low);
    const to = high === undefined ? starts.length - 1 : partWith(starts, high);
    const inner = criteria.kind === 'match' ? innerRangeOf(criteria.test) : undefined;
    const lastLow = low === undefined ? from - 1 : partWith(starts, inner?.low ?? low);
    const firstHigh = high === undefined ? to + 1 : partWith(starts, inner?.high ?? high);
    const [set, sure] = [this.index.emptySet(), this.index.emptySet()];
    let exact = true;
    const add = (first: number, last: number, isEdge: boolean): void => {
      const matching =
        isEdge && criteria.kind === 'match' ? this.#matchingIn(first, last, criteria, starts) : undefined;
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
    const several = key === undefined ? undefined : this.index.setOf(key, SEVERAL);
    if (key !== undefined && several?.count === 0 && exact) return { set: sure, exact };
    set.unite(sure);
    if (several !== undefined) set.unite(several);
    return { set, exact: false, sure };
  }

  /** What matches by a value in some granules: at the end of a range many may have one value that does not. */
  #matchingIn(
    first: number,
    last: number,
    criteria: MatchCriteria,
    starts: readonly SqlValue[],
  ): readonly number[] | undefined {
    const { parameter } = criteria;
    const [lookups, ...others] = lookupsByTable([criteria], this.#scope);
    if (lookups === undefined || others.length > 0 || first > last || last - first >= SKIP_TUNING.maxTested)
      return undefined;
    const [table, conditions] = lookups;
    const from = first === 0 ? TRUE : sql`x.low >= ${starts[first]!}`;
    const to = last + 1 === starts.length ? TRUE : sql`x.low < ${starts[last + 1]!}`;
    const tests = [
      sql`x.parameter = ${parameterKey(this.#scope, parameter)!} AND x.grp = 0`,
      from,
      to,
      anyOf(conditions.map(({ condition }) => condition)),
      inTime(sql`x.resource`, this.#scope),
    ];
    // PERF: a value in the order of the index takes a tenth of the time of a test of its resource.
    return this.#statements.column(sql`SELECT x.resource
      FROM ${TABLE_NAMES[table]} x INDEXED BY ${new Sql(`${table}_by_value`, [])} WHERE ${allOf(tests)}`) as number[];
  }

  /** Long intervals that may match by their end. */
  #intervals(
    { low, intervalsAfter }: ValueRange,
    parameter: string,
    ofDates: boolean,
  ): readonly number[] | 'many' | undefined {
    if (low === undefined || intervalsAfter === undefined) return undefined;
    // Dates are whole milliseconds, and an interval must end after the searched one.
    const after = ofDates ? intervalsAfter + 1 : intervalsAfter;
    const scan = intervalScan(low, after, parameter, this.#scope);
    if (scan === undefined) return undefined;
    const keys = this.#statements.column(sql`SELECT * FROM (${scan}) LIMIT ${MAX_SCANNED + 1}`) as readonly number[];
    return keys.length > MAX_SCANNED ? 'many' : keys;
  }
}

function isOfDates(criteria: Criteria): boolean {
  return criteria.kind === 'match' && criteria.test.kind === 'date';
}

function exact(found: ConditionSet | undefined): ConditionSet | undefined {
  return found?.exact === true ? found : undefined;
}

/** Those of a type of a project. @param indexOf undefined where a type has no valid skip index */
export function conditionSets(
  scope: RowScope,
  statements: Statements,
  indexOf: (collection: number) => SkipIndex | undefined,
): ConditionSets | undefined {
  const { collection } = scope;
  const index = collection === undefined ? undefined : indexOf(collection as number);
  if (index === undefined) return undefined;
  const setsOf = (other: RowScope): ConditionSets | undefined => conditionSets(other, statements, indexOf);
  return new ConditionSets(index, scope, statements, new LinkedSets(index, scope, statements, setsOf));
}

/** Rows of a scan that are read for a set: some milliseconds. */
const MAX_SCANNED = 32_768;

/** Rows that a scan may read even if it gives few. */
const MAX_READ = 50_000;

const FIND_TARGET = `SELECT r.key FROM collection c CROSS JOIN resource r ON r.collection = c.key
  WHERE c.project = ? AND c.type = ? AND r.id = ?`;
