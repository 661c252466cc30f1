import type { CompositeCriteria } from '../../../../search/criteria/criteria.js';
import type { QuantityTest, TokenTest } from '../../../../search/criteria/value-test.js';
import { compositeCondition } from '../../../sql/composite-sql.js';
import { rangeOf } from '../../../sql/pages/value-range.js';
import { inTime, parameterKey, type RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import { asksForUnit } from '../../../sql/skip/range-tests.js';
import { askedUnit, inAnyUnit } from '../../../sql/skip/unit-sets.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';
import { allOf, sql } from '../../../sql/sql.js';
import type { Statements } from '../../database/statements.js';
import type { SkipIndex } from '../read/skip-index.js';
import { granulesInRange } from './range-granules.js';

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
    const [code, value, ...others] = criteria.tests;
    if (others.length > 0 || code?.kind !== 'token' || value?.kind !== 'quantity' || !isOfCode(code)) return undefined;
    const parameter = `${criteria.parameter}$1`;
    const key = parameterKey(this.#scope, parameter) as number | undefined;
    const order = key === undefined ? undefined : this.#index.groups(key, code.code);
    const inRange = { kind: 'match', parameter, test: inAnyUnit(value) } as const;
    const range = rangeOf(inRange, parameter);
    if (order === undefined || range === undefined) return undefined;
    const { all, short, some } = granulesInRange(inRange, order, range, false);
    const [sure, open] = [this.#index.emptySet(), this.#index.emptySet()];
    // All values are points.
    for (const granule of [...all, ...short]) order.addTo(sure, granule);
    for (const granule of some) order.addTo(open, granule);
    if (!this.#areAllOf(code, value, order.groups)) return { set: open.unite(sure), exact: false };
    open.subtract(sure);
    if (open.count > 0 && open.count <= limit)
      for (const found of this.#passing(open.keys(), criteria)) sure.add(found);
    else if (open.count > 0) return { set: open.unite(sure), exact: false, sure };
    return { set: sure, exact: true };
  }

  /** Whether all groups have the system of the code and the unit of the value that a test asks for. */
  #areAllOf({ system }: TokenTest, value: QuantityTest, groups: ValueGroups): boolean {
    const { dialect, project } = this.#scope;
    const unit = askedUnit(value, this.#scope);
    const isOfUnit = unit === undefined ? !asksForUnit(value) : groups.units.includes(unit);
    return isOfUnit && (system === undefined || dialect.system(project, system) === (groups.system ?? UNKNOWN));
  }

  #passing(keys: readonly number[], criteria: CompositeCriteria): readonly number[] {
    this.#index.check(keys.length);
    const { row } = this.#scope;
    const passes = allOf([inTime(sql`${row}.key`, this.#scope), compositeCondition(criteria, this.#scope)]);
    return this.#statements.column(sql`WITH s (key) AS (SELECT value FROM json_each(${JSON.stringify(keys)}))
      SELECT ${row}.key FROM s AS ${row} WHERE ${passes}`) as number[];
  }
}

/** Whether a test compares the code and maybe its system. */
function isOfCode(test: TokenTest): test is TokenTest & { readonly code: string } {
  const { code, noSystem, negated, below, except = [], folded } = test;
  return (
    code !== undefined && noSystem !== true && negated !== true && below !== true && except.length === 0 && !folded
  );
}

const UNKNOWN = -1;
