import type { CompositeCriteria } from '../../../../search/criteria/criteria.js';
import { compositeCondition } from '../../../sql/composite-sql.js';
import { inTime, parameterKey, type RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import { areAllOf, askedGroups } from '../../../sql/skip/value-groups.js';
import { allOf, sql } from '../../../sql/sql.js';
import type { Statements } from '../../database/statements.js';
import type { SkipIndex } from '../read/skip-index.js';

/** Finds the sets of composites by the order of their groups: see sql/skip/value-groups.ts. */
export class GroupSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #statements: Statements;

  constructor(index: SkipIndex, scope: RowScope, statements: Statements) {
    this.#index = index;
    this.#scope = scope;
    this.#statements = statements;
  }

  /** Undefined if the index does not have the groups. @param limit maximum resources at the ends of a range to test */
  of(criteria: CompositeCriteria, limit: number): ConditionSet | undefined {
    const asked = askedGroups(criteria);
    const key = asked && (parameterKey(this.#scope, asked.parameter) as number | undefined);
    const order = key === undefined ? undefined : this.#index.groups(key, asked!.code);
    if (asked === undefined || order === undefined) return undefined;
    const granules = asked.granulesIn(order);
    const [sure, open] = [this.#index.emptySet(), this.#index.emptySet()];
    for (const granule of granules.sure) order.addTo(sure, granule);
    for (const granule of granules.open) order.addTo(open, granule);
    if (!areAllOf(order.groups, criteria, this.#scope)) return { set: open.unite(sure), exact: false };
    open.subtract(sure);
    if (open.count > 0 && open.count <= limit)
      for (const found of this.#passing(open.keys(), criteria)) sure.add(found);
    else if (open.count > 0) return { set: open.unite(sure), exact: false, sure };
    return { set: sure, exact: true };
  }

  #passing(keys: readonly number[], criteria: CompositeCriteria): readonly number[] {
    this.#index.check(keys.length);
    const { row } = this.#scope;
    const passes = allOf([inTime(sql`${row}.key`, this.#scope), compositeCondition(criteria, this.#scope)]);
    return this.#statements.column(sql`WITH s (key) AS (SELECT value FROM json_each(${JSON.stringify(keys)}))
      SELECT ${row}.key FROM s AS ${row} WHERE ${passes}`) as number[];
  }
}
