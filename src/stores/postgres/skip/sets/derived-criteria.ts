import type { CompositeCriteria, Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import { getOrCreate } from '../../../../platform/maps.js';
import { leavesOf } from '../../../sql/pages/condition.js';
import type { ValueTest } from '../../../../search/criteria/value-test.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { type CompositeParts, waysOfComposite } from '../../../sql/skip/composite-parts.js';
import { equalTestOf } from '../../../sql/skip/other-values.js';

/**
 * Criteria from whose sets the sets of others are made: the parts of a composite, and the opposite of a negated test.
 * Each is made once, so that its set can be kept. Equal criteria share one object, because the rules of a policy repeat
 * the conditions of a search.
 */
export class DerivedCriteria {
  readonly #scope: RowScope;
  readonly #ways = new Map<CompositeCriteria, readonly CompositeParts[]>();
  readonly #opposites = new Map<Criteria, MatchCriteria>();
  readonly #same = new Map<Criteria, Criteria>();
  readonly #byText = new Map<string, Criteria>();

  constructor(scope: RowScope) {
    this.#scope = scope;
  }

  /** The first of equal criteria. */
  same<Any extends Criteria>(criteria: Any): Any {
    const first = getOrCreate(this.#same, criteria, () => {
      return getOrCreate(this.#byText, JSON.stringify(criteria, exactly), () => criteria);
    });
    return first as Any;
  }

  /** The leaves of criteria, each with the criteria from whose sets its set can be made. */
  leavesOf(criteria: Criteria): readonly (readonly [leaf: Criteria, ...sources: Criteria[]])[] {
    return leavesOf(criteria).map((leaf) => {
      const parts = leaf.kind === 'composite' ? this.waysOf(leaf).flat() : [];
      const opposite = (one: Criteria): readonly Criteria[] => [this.oppositeOf(one) ?? []].flat();
      return [leaf, ...opposite(leaf), ...parts.flatMap((one) => (one === undefined ? [] : [one, ...opposite(one)]))];
    });
  }

  /** See {@link waysOfComposite}. */
  waysOf(criteria: CompositeCriteria): readonly CompositeParts[] {
    return getOrCreate(this.#ways, criteria, () =>
      waysOfComposite(criteria, this.#scope.dialect.model, this.#scope.type),
    );
  }

  /** The criteria that a negated test excludes; undefined for other tests. */
  oppositeOf(criteria: Criteria): MatchCriteria | undefined {
    if (criteria.kind !== 'match' || criteria.parameter.includes('$')) return undefined;
    const test = equalTestOf(criteria.test)?.test ?? equalInUnit(criteria.test);
    if (test === undefined || parameterKey(this.#scope, criteria.parameter) === undefined) return undefined;
    return getOrCreate(this.#opposites, criteria, () => ({ ...criteria, test }));
  }
}

/** JSON has no infinite numbers. */
function exactly(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

/** The test that the other values in a unit pass. */
function equalInUnit(test: ValueTest): ValueTest | undefined {
  return test.kind === 'quantity' && test.code !== undefined && test.prefix === 'ne'
    ? { ...test, prefix: 'eq' }
    : undefined;
}
