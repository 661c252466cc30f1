import type { CompositeCriteria } from '../../../../search/criteria/criteria.js';
import type { RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { areAllOf, type AskedGroups, askedGroups } from '../../../sql/skip/value-groups.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { GroupOrder, LayerGroupOrder } from '../read/skip-orders.js';
import { groupsName, type RowName } from '../read/skip-rows.js';
import type { SkipLayer } from '../../rows/skip-row.js';

/**
 * Finds the sets of composites by the order of their groups: see sql/skip/value-groups.ts. Each layer has an order of its own.
 * Load {@link namesOf} first, then {@link granulesOf}.
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

  /** Whether the orders of groups alone give the set, so that those of the parts are not needed. Load {@link namesOf} first. */
  isWhole(criteria: CompositeCriteria): boolean {
    return this.#find(criteria)?.later.every(([, { groups }]) => groups !== undefined) === true;
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
    const { asked, order, later } = found;
    const { isLayered, all, layers } = this.#index;
    const [sure, open] = this.#setsIn(criteria, asked, order, (set, granules) => order.addAll(set, granules));
    for (const set of [sure, open]) if (isLayered) set.intersect(this.#index.numbersIn(layers[0]!));
    for (const [layer, { groups, lists, ...own }] of later) {
      if (groups === undefined) {
        open.unite(
          this.#index
            .numbersIn(layer)
            .copy()
            .intersect(byParts()?.set ?? all),
        );
        continue;
      }
      const [passing, others] = this.#setsIn(criteria, asked, { ...own, groups }, (set, granules) => {
        for (const granule of granules) for (const number of lists.get(granule) ?? []) set.add(number);
      });
      sure.unite(passing);
      open.unite(others);
    }
    for (const set of [sure, open]) if (isLayered) set.intersect(all);
    open.subtract(sure);
    return open.count === 0 ? { set: sure, exact: true } : { set: open.unite(sure), exact: false, sure };
  }

  /** The resources of an order that pass, and the others that may. */
  #setsIn(
    criteria: CompositeCriteria,
    asked: AskedGroups,
    order: Pick<GroupOrder, 'groups' | 'starts' | 'ties'>,
    addAll: (set: KeySet, granules: readonly number[]) => void,
  ): readonly [sure: KeySet, open: KeySet] {
    const granules = asked.granulesIn(order);
    const [inRange, open] = [this.#index.emptySet(), this.#index.emptySet()];
    addAll(inRange, granules.sure);
    addAll(open, granules.open);
    const isSure = areAllOf(order.groups, criteria, this.#scope);
    return isSure ? [inRange, open] : [this.#index.emptySet(), open.unite(inRange)];
  }

  #find(criteria: CompositeCriteria): Found | undefined {
    const asked = askedGroups(criteria);
    const key = asked && this.#keyOf(asked.parameter);
    if (key === undefined) return undefined;
    const { orders } = this.#index;
    const order = orders.groups(key, asked!.code);
    return order && { asked: asked!, order, later: orders.groupsOfLayers(key, asked!.code) };
  }
}

interface Found {
  readonly asked: AskedGroups;
  /** That of the oldest layer. */
  readonly order: GroupOrder;
  readonly later: readonly (readonly [SkipLayer, LayerGroupOrder])[];
}
