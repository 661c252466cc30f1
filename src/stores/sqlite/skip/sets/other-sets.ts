import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import { TABLE_NAMES } from '../../../sql/index-tables.js';
import { lookupsByTable } from '../../../sql/match-sql.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../../../sql/rows.js';
import { targetOf } from '../../../sql/pages/condition.js';
import { type ConditionSet, union } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { equalTestOf, setOfOthers } from '../../../sql/skip/other-values.js';
import { allOf, anyOf, type Sql, sql, TRUE } from '../../../sql/sql.js';
import { MAX_SCANNED, type ScannedSets } from './scanned-sets.js';
import type { SkipIndex } from '../read/skip-index.js';

/** The target of a reference. */
export interface Target {
  readonly type: string;
  readonly id: string;
}

/** Finds the sets of negated tests: the resources with a value that is not excluded. */
export class OtherSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #scanned: ScannedSets;
  readonly #targetOf: (target: Target) => number | undefined;

  /** @param targetOf the key of the target of references; undefined if nothing refers to it */
  constructor(
    index: SkipIndex,
    scope: RowScope,
    scanned: ScannedSets,
    targetOf: (target: Target) => number | undefined,
  ) {
    this.#index = index;
    this.#scope = scope;
    this.#scanned = scanned;
    this.#targetOf = targetOf;
  }

  /**
   * @param present the resources with a value
   * @param equalTo the set of the resources with a searched value
   * @param limit rows of scans to read for an exact set; undefined: those of a page
   */
  of(
    { parameter, test, ...criteria }: MatchCriteria,
    present: KeySet,
    equalTo: (criteria: Criteria) => ConditionSet | undefined,
    limit: number | undefined,
  ): ConditionSet | undefined {
    const opposite = equalTestOf(test);
    const key = opposite && (parameterKey(this.#scope, parameter) as number | undefined);
    if (opposite === undefined || key === undefined) return undefined;
    const equal: MatchCriteria = { ...criteria, parameter, test: opposite.test };
    const referring = this.#otherTargets(equal, key, limit);
    if (referring !== undefined) return referring;
    const found = equalTo(equal);
    const several = opposite.isWhole ? this.#scanned.several(key, limit) : undefined;
    const others = found && setOfOthers(present, found, several);
    if (others?.exact === true) return others;
    const only = this.#onlyCode(equal, key, limit ?? MAX_SCANNED);
    return only === undefined ? others : { set: present.copy().subtract(only), exact: true };
  }

  /** The resources that refer to another target, also by an absolute URL. */
  #otherTargets({ test }: MatchCriteria, key: number, limit: number | undefined): ConditionSet | undefined {
    const asked = this.#scope.baseUrl === undefined ? targetOf(test) : undefined;
    if (asked === undefined) return undefined;
    const references = this.#index.references(key);
    const urls = references && this.#scanned.of(this.#urls(key), limit ?? MAX_SCANNED);
    if (urls === undefined) return undefined;
    const target = this.#targetOf(asked);
    const set = this.#index.emptySet();
    references!.addSources({ has: (one) => one !== target }, set);
    return union([{ set, exact: true }, urls]);
  }

  #urls(key: number): Sql {
    const tests = [ofParameter(X, key, this.#scope), sql`x.grp = 0`, inTime(sql`x.resource`, this.#scope)];
    return sql`SELECT x.resource FROM uri x INDEXED BY uri_by_value WHERE ${allOf(tests)}`;
  }

  /** The resources that have only a code, with the searched system. See extremes.ts for the bits. */
  #onlyCode(equal: MatchCriteria, key: number, limit: number): KeySet | undefined {
    const { test } = equal;
    if (test.kind !== 'token' || test.code === undefined || test.below === true || test.except !== undefined)
      return undefined;
    if (test.folded !== undefined && test.folded !== test.code) return undefined;
    const conditions = lookupsByTable([equal], this.#scope).flatMap(([, lookups]) => lookups);
    const passes = anyOf(conditions.map(({ condition }) => condition));
    const rows = [
      ofParameter(X, key, this.#scope),
      sql`x.grp = 0 AND x.code = ${test.code} AND x.extreme & 4 = 0`,
      inTime(sql`x.resource`, this.#scope),
    ];
    // PERF: rows of a code are in the order of their resources.
    const scan = sql`SELECT x.resource FROM ${TABLE_NAMES.token} x INDEXED BY token_by_value
      WHERE ${allOf(rows)} GROUP BY x.resource HAVING min(${passes === TRUE ? sql`1` : passes})`;
    return this.#scanned.of(scan, limit)?.set;
  }
}

const X = sql`x`;
