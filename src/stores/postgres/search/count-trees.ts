import type { Criteria } from '../../../search/criteria/criteria.js';
import { matchesByParameter } from '../../sql/match-sql.js';
import { type Condition, conditionsOf } from '../../sql/pages/condition.js';
import { isCurrent, type RowScope } from '../../sql/rows.js';
import { allOf, type Sql, sql, unionAll } from '../../sql/sql.js';
import type { CountLists } from './count-lists.js';
import { withOwnScan } from '../scans/own-scans.js';
import type { Sizes } from '../scans/sizes.js';

/**
 * Scans for criteria of several levels, mainly those of policies. The scan of a disjunction reads its parts one after
 * the other. The scan of a conjunction reads its longest part, and looks each row up in lists of the others.
 */
export class CountTrees {
  readonly #scope: RowScope;
  readonly #sizes: Sizes;
  readonly #known = new Map<Criteria, readonly Condition[]>();

  constructor(scope: RowScope, sizes: Sizes) {
    this.#scope = scope;
    this.#sizes = sizes;
  }

  /** The condition with a scan, if its parts have one. */
  withScan(condition: Condition, lists: CountLists): Condition {
    const { scan: own, criteria } = condition;
    if (own !== undefined || criteria === undefined || criteria.kind === 'not') return condition;
    const scan = this.#scan(criteria, lists);
    if (scan === undefined) return condition;
    return {
      scan,
      criteria,
      get test() {
        return condition.test;
      },
    };
  }

  /** The condition that a negation does not exclude the row `r0`; undefined for others, and without a scan for it. */
  lacks({ criteria }: Condition, lists: CountLists): Sql | undefined {
    if (criteria?.kind !== 'not') return undefined;
    const scan = this.#scanOf(criteria.of, lists);
    return scan && lists.lacks(scan);
  }

  /** The criteria as a single condition. */
  single(criteria: Criteria): Condition | undefined {
    const [one, another] = this.#conditionsOf(criteria);
    return another === undefined ? one : undefined;
  }

  /** The parts of conditions without a scan whose lengths are compared. */
  parts(conditions: readonly Condition[]): readonly Condition[] {
    return conditions.flatMap(({ scan, criteria }) =>
      scan !== undefined || criteria === undefined ? [] : this.#parts(criteria),
    );
  }

  #parts(criteria: Criteria): readonly Condition[] {
    if (criteria.kind === 'not') return this.#parts(criteria.of);
    if (criteria.kind === 'or') return criteria.of.flatMap((one) => this.#parts(one));
    if (criteria.kind !== 'and') return [];
    const conditions = this.#conditionsOf(criteria);
    return [...conditions.filter(({ scan }) => scan !== undefined), ...this.parts(conditions)];
  }

  #conditionsOf(criteria: Criteria): readonly Condition[] {
    let conditions = this.#known.get(criteria);
    if (conditions === undefined) {
      conditions = conditionsOf(criteria, this.#scope).map((one) => withOwnScan(one, this.#scope));
      this.#known.set(criteria, conditions);
    }
    return conditions;
  }

  #scanOf(criteria: Criteria, lists: CountLists): Sql | undefined {
    return this.single(criteria)?.scan ?? this.#scan(criteria, lists);
  }

  #scan(criteria: Criteria, lists: CountLists): Sql | undefined {
    switch (criteria.kind) {
      case 'or': {
        if (criteria.of.length === 0) return NOTHING;
        const groups = [...matchesByParameter(criteria.of).values()];
        const matches = groups.map((of) => this.single({ kind: 'or', of })?.scan);
        const others = criteria.of.filter(({ kind }) => kind !== 'match').map((one) => this.#scanOf(one, lists));
        const scans = [...matches, ...others];
        return scans.every((scan) => scan !== undefined) ? unionAll(scans) : undefined;
      }
      case 'and': {
        const conditions = this.#conditionsOf(criteria).map((one) => this.withScan(one, lists));
        const { start, others, rest } = longestFirst(conditions, this.#sizes);
        const kept = rest.map((one) => this.lacks(one, lists));
        if (!kept.every((test) => test !== undefined)) return undefined;
        const tests = [...others.map(({ scan }) => lists.has(scan!)), ...kept];
        return sql`SELECT r0.key FROM (${start?.scan ?? allOfType(this.#scope)}) r0 (key) WHERE ${allOf(tests)}`;
      }
      case 'not': {
        const scan = this.#scanOf(criteria.of, lists);
        return scan && sql`SELECT r0.key FROM (${allOfType(this.#scope)}) r0 (key) WHERE ${lists.lacks(scan)}`;
      }
      case 'all':
        return allOfType(this.#scope);
      default:
        return undefined;
    }
  }
}

/** The scan of an empty alternative. */
const NOTHING = sql`SELECT a.key FROM resource a WHERE FALSE`;

/** All resources of the type. */
export function allOfType(scope: RowScope): Sql {
  return sql`SELECT a.key FROM resource a WHERE ${isCurrent({ ...scope, row: sql`a` })}`;
}

/** The condition with the longest scan of known length, preferably one that returns each resource once; and the others. */
export function longestFirst(conditions: readonly Condition[], sizes: Sizes): Ordered {
  const scans = conditions
    .filter(({ scan }) => scan !== undefined)
    .sort((a, b) => compare(sizes.rowsOf(b), sizes.rowsOf(a)) || Number(b.unique === true) - Number(a.unique === true));
  const [start, ...others] = scans;
  return { start, others, rest: conditions.filter(({ scan }) => scan === undefined) };
}

interface Ordered {
  readonly start: Condition | undefined;
  readonly others: readonly Condition[];
  /** The conditions without a scan. */
  readonly rest: readonly Condition[];
}

/** Both may be infinite. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
