import type { ChainCriteria, Criteria, HasCriteria } from '../../../../search/criteria/criteria.js';
import { linkOf, rowCondition } from '../../../sql/conditions.js';
import { byOwnUrl } from '../../../sql/own-urls.js';
import { type Condition, conditionsOf } from '../../../sql/pages/condition.js';
import { isDirect, planRows } from '../../../sql/plan.js';
import { chainScope, innerScope, inTime, isCurrent, parameterKey, type RowScope } from '../../../sql/rows.js';
import { allOf, type Sql, sql, TRUE } from '../../../sql/sql.js';
import { withOwnScan } from '../../scans/own-scans.js';
import type { Statements } from '../../database/statements.js';
import { type ConditionSet, intersection, union } from '../../../sql/skip/condition-set.js';
import type { KeyTest } from '../../../sql/skip/references.js';
import type { SkipIndex } from '../read/skip-index.js';

/** Finds the sets of conditions on a type. */
export interface FindsSets {
  readonly index: SkipIndex;
  /** The set for a page. Undefined if finding it takes too long. */
  of(condition: Condition): ConditionSet | undefined;
  /** The set for a count that may read this many rows. Undefined if finding it takes too long. */
  counted(condition: Condition, limit: number): ConditionSet | undefined;
  /** The matches of a scan; undefined if there are many. */
  scanned(condition: Condition): ConditionSet | undefined;
}

/** The sets of conditions on other resources: chains and `_has`. The references of the skip index connect them. */
export class LinkedSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #statements: Statements;
  readonly #setsOf: (scope: RowScope) => FindsSets | undefined;

  /** @param setsOf the sets of another type; undefined if it has no skip index */
  constructor(
    index: SkipIndex,
    scope: RowScope,
    statements: Statements,
    setsOf: (scope: RowScope) => FindsSets | undefined,
  ) {
    this.#index = index;
    this.#scope = scope;
    this.#statements = statements;
    this.#setsOf = setsOf;
  }

  /** The resources to which matches of another type refer. @param limit rows to read for an exact set; undefined: those of a page */
  having({ type, parameter, of }: HasCriteria, limit: number | undefined): ConditionSet | undefined {
    const scope = innerScope(this.#scope, type);
    const reference = parameterKey(scope, parameter) as number | undefined;
    if (this.#hasOtherReferences(reference, scope, this.#scope.type)) return undefined;
    if (reference === undefined) return { set: this.#index.emptySet(), exact: true };
    const sets = this.#setsOf(scope);
    const references = sets?.index.references(reference);
    const sources = references && this.#matching(of, scope, sets!, limit);
    if (sources === undefined) return this.#targetsOfFew(of, scope, reference);
    const set = this.#index.emptySet();
    if (sources.set.count > FEW_SOURCES) references!.addTargets(sources.set, set);
    else for (const target of this.#targetsOf(sources.set.keys(), reference)) set.add(target);
    for (const target of this.#pending(
      of,
      scope,
      sets!.index,
      sql`x.target`,
      sql`CROSS JOIN reference x
      ON x.resource = ${scope.row}.key AND x.parameter = ${reference} AND x.grp = 0`,
    )) {
      set.add(target);
    }
    // Some targets may be of other types.
    return { set: set.intersect(this.#index.all), exact: sources.exact };
  }

  /** The resources that refer to matches of another type. @param limit as in {@link having} */
  chained(criteria: ChainCriteria, limit: number | undefined): ConditionSet | undefined {
    const reference = parameterKey(this.#scope, criteria.parameter) as number | undefined;
    if (this.#hasOtherReferences(reference, this.#scope, criteria.type)) return undefined;
    const none = { set: this.#index.emptySet(), exact: true };
    const inside = linkOf(criteria, this.#scope) === undefined ? none : this.#inside(criteria);
    return criteria.reach === 'inside' || inside === undefined
      ? inside
      : union([inside, this.#outside(criteria, limit)]);
  }

  /**
   * True if some references are absolute and below the service's own base, or belong to contained resources. PERF: few
   * projects have such references, and checking their index takes much less time than a search without sets.
   */
  #hasOtherReferences(reference: number | undefined, scope: RowScope, target: string): boolean {
    if (this.#scope.inside !== undefined) return true;
    if (scope.baseUrl === undefined || reference === undefined) return false;
    return this.#statements.get(byOwnUrl(reference, scope, target)) !== undefined;
  }

  #inside(criteria: ChainCriteria): ConditionSet | undefined {
    const { scan } = planRows({ ...criteria, reach: 'inside' }, this.#scope);
    const keys = scan && this.#upTo(MAX_LINKS, scan);
    const set = this.#index.emptySet();
    for (const key of keys ?? []) set.add(key);
    return keys && { set, exact: true };
  }

  #outside({ parameter, type, of }: ChainCriteria, limit: number | undefined): ConditionSet | undefined {
    const reference = parameterKey(this.#scope, parameter) as number | undefined;
    const scope = chainScope(this.#scope, type);
    const set = this.#index.emptySet();
    if (reference === undefined || scope.collection === undefined) return { set, exact: true };
    const references = this.#index.references(reference);
    const targets = references && this.#targets(of, scope, limit);
    if (targets === undefined) return undefined;
    references!.addSources(targets, set);
    return { set, exact: targets.exact };
  }

  #targets(
    criteria: Criteria,
    scope: RowScope,
    limit: number | undefined,
  ): (KeyTest & { readonly exact: boolean }) | undefined {
    const sets = this.#setsOf(scope);
    const known = sets && this.#matching(criteria, scope, sets, limit);
    if (known === undefined) {
      const { scan, residual } = planRows(criteria, scope);
      const all = sql`SELECT ${scope.row}.key FROM resource ${scope.row} WHERE ${allOf([isCurrent(scope), inTime(sql`${scope.row}.key`, scope), residual])}`;
      const keys = this.#upTo(MAX_LINKS, scan !== undefined && residual === TRUE ? scan : all);
      const set = new Set(keys);
      return keys && { has: (key) => set.has(key), exact: true };
    }
    const { set, exact } = known;
    // Keys outside the range of the index are possible.
    const written = new Set(this.#pending(criteria, scope, sets!.index, sql`${scope.row}.key`, sql``));
    return { has: (key) => set.has(key) || written.has(key), exact };
  }

  /** The matches in another type, without resources written since its index was built. */
  #matching(criteria: Criteria, scope: RowScope, sets: FindsSets, limit: number | undefined): ConditionSet | undefined {
    const conditions = conditionsOf(criteria, scope).map((one) => withOwnScan(one, scope, this.#statements));
    const all = { set: sets.index.all, exact: true };
    const found = intersection([
      all,
      ...conditions.map((one) => {
        const known = limit === undefined ? sets.of(one) : sets.counted(one, limit);
        return known?.exact === true ? known : (sets.scanned(one) ?? known);
      }),
    ]);
    if (found === undefined || (!found.exact && conditions.length > 0 && found.set.count === all.set.count))
      return undefined;
    for (const key of sets.index.pending) found.set.delete(key);
    return found;
  }

  /** The matches among resources of another type that were written since its index was built. */
  #pending(criteria: Criteria, scope: RowScope, { pending }: SkipIndex, column: Sql, join: Sql): readonly number[] {
    if (pending.length === 0) return [];
    const { row } = scope;
    const tests = [
      sql`+${row}.collection = ${scope.collection!} AND +${row}.content IS NOT NULL`,
      inTime(sql`${row}.key`, scope),
      rowCondition(criteria, scope),
    ];
    return this.#statements.column(sql`SELECT ${column} FROM json_each(${JSON.stringify(pending)}) j
      CROSS JOIN resource ${row} ON ${row}.key = j.value ${join} WHERE ${allOf(tests)}`) as readonly number[];
  }

  /** The targets of the matches in a type without a skip index, if they are few. */
  #targetsOfFew(criteria: Criteria, scope: RowScope, reference: number): ConditionSet | undefined {
    const { scan, residual } = planRows(criteria, scope);
    if (!isDirect(criteria) || scan === undefined || residual !== TRUE) return undefined;
    const sources = this.#upTo(MAX_SOURCES, scan);
    if (sources === undefined) return undefined;
    const set = this.#index.emptySet();
    for (const target of this.#targetsOf(sources, reference)) set.add(target);
    return { set: set.intersect(this.#index.all), exact: true };
  }

  #targetsOf(sources: readonly number[], reference: number): readonly number[] {
    return this.#statements.column(sql`SELECT x.target FROM json_each(${JSON.stringify(sources)}) j
      CROSS JOIN reference x ON x.resource = j.value AND x.parameter = ${reference} AND x.grp = 0
      WHERE ${inTime(sql`x.resource`, this.#scope)}`) as readonly number[];
  }

  /** The keys that a scan finds; undefined if it finds more than the limit. */
  #upTo(limit: number, scan: Sql): readonly number[] | undefined {
    const keys = this.#statements.column(sql`SELECT * FROM (${scan}) LIMIT ${limit + 1}`) as readonly number[];
    return keys.length > limit ? undefined : keys;
  }
}

/** Maximum resources for which looking up the references of each is faster. */
const FEW_SOURCES = 500;

/** Maximum resources whose references are read for a set: some milliseconds. */
const MAX_SOURCES = 8_192;

/** Maximum resources of another type, or contained resources, that are read for a set: some milliseconds. */
const MAX_LINKS = 16_384;
