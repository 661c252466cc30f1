import type { KeySet } from '../../../sql/skip/key-set.js';
import { granuleLists } from '../format/granule-lists.js';
import { orderKeys, orderWithoutValues, type SkipOrderKeys } from './order-keys.js';
import { OrderView } from './order-view.js';
import { ABSENT } from './skip-cache.js';
import {
  BY_END,
  BY_LARGEST,
  BY_SMALLEST,
  type GroupsOrder,
  type LayerGroups,
  type LayerOrder,
  ORDER,
  type SkipLayer,
  type SkipOrder,
} from '../../rows/skip-row.js';
import { groupsName, orderName, presenceName, type RowName, type SkipRows } from './skip-rows.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';

/** An order of groups. */
export interface GroupOrder extends SkipOrderKeys {
  readonly groups: ValueGroups;
}

/** An order of the groups of a layer. */
export interface LayerGroupOrder extends Pick<LayerGroups, 'groups' | 'starts' | 'ties'> {
  /** The numbers in each granule. */
  readonly lists: ReadonlyMap<number, readonly number[]>;
  readonly byteLength: number;
}

/** The resources of a skip index. */
export interface SkipNumbers {
  /** From the oldest to the latest. */
  readonly layers: readonly SkipLayer[];
  /** Must not be changed. */
  readonly all: KeySet;
  emptySet(): KeySet;
}

/** The orders of a skip index: resources by their values of a parameter, in granules. Load the rows of an order before using it. */
export class SkipOrders {
  readonly #numbers: SkipNumbers;
  readonly #rows: SkipRows;

  constructor(numbers: SkipNumbers, rows: SkipRows) {
    this.#numbers = numbers;
    this.#rows = rows;
  }

  /** An order with the keys of its granules; undefined if the index does not have it. */
  of(sort: number, descending: boolean): SkipOrderKeys | undefined {
    const view = this.view(sort, descending);
    if (view === undefined) return undefined;
    const name = orderName(sort, descending && this.#severalInOldest(sort) ? BY_LARGEST : BY_SMALLEST);
    const last = (this.#rows.row(name) as SkipOrder).starts.length;
    return this.#withKeys(view, name, last, descending && this.hasSeveral(sort) ? BY_LARGEST : BY_SMALLEST);
  }

  /** The granules of an order, with those of all layers. */
  view(sort: number, descending: boolean): OrderView | undefined {
    const oldest = this.#rows.row(orderName(sort, BY_SMALLEST));
    if (oldest === ABSENT) return undefined;
    const subject = descending && this.hasSeveral(sort) ? BY_LARGEST : BY_SMALLEST;
    return this.#rows.combined(`order ${sort} ${subject}`, () => {
      const first = subject === BY_LARGEST && this.#severalInOldest(sort) ? BY_LARGEST : BY_SMALLEST;
      let view = OrderView.of(this.#rows.row(orderName(sort, first)) as SkipOrder);
      for (const { mark } of this.#numbers.layers.slice(1)) {
        // An order without several values is the same in both directions.
        const rows = [subject, BY_SMALLEST].map((one) => this.#rows.row({ sort, subject: one, value: mark + ORDER }));
        view = view.with(rows.find((row) => row !== ABSENT) as LayerOrder);
      }
      return view;
    });
  }

  /**
   * The resources with long intervals of a parameter, by the end of the last one. Undefined if they are few, or if there are
   * layers, which have no such order.
   */
  ends(sort: number): SkipOrderKeys | undefined {
    const name = orderName(sort, BY_END);
    const order = this.#numbers.layers.length > 1 ? ABSENT : this.#rows.row(name);
    if (order === ABSENT) return undefined;
    const view = this.#rows.combined(`order ${sort} ${BY_END}`, () => OrderView.of(order as SkipOrder));
    return this.#withKeys(view, name, view.starts.length, BY_END);
  }

  /** The groups of the oldest layer with a code; undefined if it does not have them. @param value their component */
  groups(value: number, code: string): GroupOrder | undefined {
    const order = this.#rows.row(groupsName(value, code));
    if (order === ABSENT) return undefined;
    const { groups, subject, starts } = order as GroupsOrder;
    const name = orderName(value, subject);
    const view = this.#rows.combined(`order ${value} ${subject}`, () => OrderView.of(order as GroupsOrder));
    return { ...this.#withKeys(view, name, starts.length, subject), groups };
  }

  /**
   * The groups with a code in the later layers, for each layer that has some.
   *
   * @param value the component of the values
   */
  groupsOfLayers(value: number, code: string): readonly (readonly [SkipLayer, LayerGroupOrder])[] {
    const name = groupsName(value, code);
    return this.#numbers.layers.slice(1).flatMap((layer) => {
      const row = this.#rows.row({ ...name, value: layer.mark + name.value });
      if (row === ABSENT) return [];
      const order = this.#rows.combined(`groups ${value} ${layer.mark}${name.value}`, () => {
        const { lists, ...others } = row as LayerGroups;
        return { ...others, lists: granuleLists(lists), byteLength: 12 * lists.length };
      });
      return [[layer, order]];
    });
  }

  /** The order by a parameter without values. Undefined if a resource has one. Load its presence first. */
  withoutValues(parameter: number): SkipOrderKeys | undefined {
    const { layers } = this.#numbers;
    const name = presenceName(parameter);
    const hasValues = ({ mark }: SkipLayer): boolean =>
      this.#rows.row({ ...name, value: mark + name.value }) !== ABSENT;
    return layers.some(hasValues) ? undefined : orderWithoutValues(this.#numbers.all);
  }

  /** Whether some resource may have several values of a parameter. */
  hasSeveral(parameter: number): boolean {
    const last = this.#numbers.layers.at(-1)!.mark;
    const order = this.#rows.row({ ...orderName(parameter, BY_SMALLEST), value: last + ORDER });
    return order === ABSENT || (order as SkipOrder).several;
  }

  /** @param subject the subject of the granules of all layers */
  #withKeys(view: OrderView, name: RowName, last: number, subject: number): SkipOrderKeys {
    const read = (row: RowName): Uint8Array => this.#rows.row(row) as Uint8Array;
    return orderKeys(view, name, last, read, (block, fill) =>
      this.#rows.combined(`block ${name.sort} ${subject} ${block}`, () => {
        const set = this.#numbers.emptySet();
        fill(set);
        return set;
      }),
    );
  }

  #severalInOldest(sort: number): boolean {
    return (this.#rows.row(orderName(sort, BY_SMALLEST)) as SkipOrder).several;
  }
}
