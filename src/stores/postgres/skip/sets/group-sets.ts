import type { CompositeCriteria } from '../../../../search/criteria/criteria.js';
import type { RowScope } from '../../../sql/rows.js';
import { type ConditionSet, sureOf } from '../../../sql/skip/condition-set.js';
import { areAllOf, type AskedGroups, askedGroups } from '../../../sql/skip/value-groups.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { GroupOrder } from '../read/skip-orders.js';
import { groupsName, type RowName } from '../read/skip-rows.js';

/**
 * Finds the sets of composites by the order of their groups: see sql/skip/value-groups.ts. Only the oldest layer of a skip
 * index has such orders. Load {@link namesOf} first, then {@link granulesOf}.
 */
export class GroupSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #keyOf: (parameter: string) => number | undefined;

  /** @param keyOf the key of a component; undefined if it has never had a value */
  constructor(index: SkipIndex, scope: RowScope, keyOf: (parameter: string) => number | undefined) {
    this.#index = index;
    this.#scope = scope;
    this.#keyOf = keyOf;
  }

  namesOf(criteria: CompositeCriteria): readonly RowName[] {
    const asked = askedGroups(criteria);
    const key = asked && this.#keyOf(asked.parameter);
    return key === undefined ? [] : [groupsName(key, asked!.code)];
  }

  /** Whether the order of groups alone gives the set, so that those of the parts are not needed. Load {@link namesOf} first. */
  isWhole(criteria: CompositeCriteria): boolean {
    return !this.#index.isLayered && this.#find(criteria) !== undefined;
  }

  granulesOf(criteria: CompositeCriteria): readonly RowName[] {
    const found = this.#find(criteria);
    if (found === undefined) return [];
    const { sure, open } = found.asked.granulesIn(found.order);
    const places = [...sure, ...open];
    return places.length === 0 ? [] : found.order.rowsOf(Math.min(...places), Math.max(...places));
  }

  /** @param byParts the resources that can match by the sets of the parts; undefined: all */
  of(criteria: CompositeCriteria, byParts: () => ConditionSet | undefined): ConditionSet | undefined {
    const found = this.#find(criteria);
    if (found === undefined) return undefined;
    const { asked, order } = found;
    const granules = asked.granulesIn(order);
    const [inRange, others] = [this.#index.emptySet(), this.#index.emptySet()];
    const isSure = areAllOf(order.groups, criteria, this.#scope);
    const [sure, open] = isSure ? [inRange, others] : [others, inRange];
    order.addAll(inRange, granules.sure);
    order.addAll(open, granules.open);
    if (this.#index.isLayered) {
      const later = byParts();
      const known = later && sureOf(later);
      for (const set of [sure, open]) set.intersect(this.#index.oldest);
      open.unite((later?.set ?? this.#index.all).copy().subtract(this.#index.oldest));
      if (known !== undefined) sure.unite(known.copy().subtract(this.#index.oldest));
      for (const set of [sure, open]) set.intersect(this.#index.all);
    }
    open.subtract(sure);
    return open.count === 0 ? { set: sure, exact: true } : { set: open.unite(sure), exact: false, sure };
  }

  #find(criteria: CompositeCriteria): { readonly asked: AskedGroups; readonly order: GroupOrder } | undefined {
    const asked = askedGroups(criteria);
    const key = asked && this.#keyOf(asked.parameter);
    const order = key === undefined ? undefined : this.#index.orders.groups(key, asked!.code);
    return order && { asked: asked!, order };
  }
}
