import type { SqlValue } from '../../../sql/sql.js';
import { granuleLists } from '../format/granule-lists.js';
import type { LayerOrder, SkipOrder } from '../../rows/skip-row.js';

/**
 * The granules of an order after the changes of layers. Each has the resources of at most one granule of the oldest layer, and
 * those that layers add.
 */
export class OrderView {
  readonly starts: readonly SqlValue[];
  readonly ties: readonly number[];
  readonly several: boolean;
  /** For each granule, and for the resources without a value: its place in the oldest layer, or -1. */
  readonly places: readonly number[];
  /** The numbers that layers add to each, in ascending order. */
  readonly added: readonly (readonly number[])[];

  private constructor(
    { starts, ties, several }: SkipOrder,
    places: readonly number[],
    added: readonly (readonly number[])[],
  ) {
    this.starts = starts;
    this.ties = ties;
    this.several = several;
    this.places = places;
    this.added = added;
  }

  /** The order of the oldest layer. */
  static of(order: SkipOrder): OrderView {
    const places = Array.from({ length: order.starts.length + 1 }, (_, granule) => granule);
    return new OrderView(
      order,
      places,
      places.map(() => NONE),
    );
  }

  get byteLength(): number {
    return this.added.reduce((length, list) => length + 8 * list.length, 64 * this.places.length);
  }

  /** The view with the changes of a layer. */
  with({ several, cuts, lists }: LayerOrder): OrderView {
    const made = new Maker(this);
    let next = 0;
    for (const { at, replaces, starts, ties } of cuts) {
      made.keep(next, replaces ? at : at + 1);
      made.add(starts, ties);
      next = at + 1;
    }
    made.keep(next, this.places.length);
    for (const [granule, numbers] of granuleLists(lists)) {
      made.added[granule] = [...made.added[granule]!, ...numbers];
    }
    return new OrderView({ starts: made.starts, ties: made.ties, several }, made.places, made.added);
  }
}

/** Collects granules. */
class Maker {
  readonly starts: SqlValue[] = [];
  readonly ties: number[] = [];
  readonly places: number[] = [];
  readonly added: (readonly number[])[] = [];
  readonly #view: OrderView;
  readonly #areTies: ReadonlySet<number>;

  constructor(view: OrderView) {
    this.#view = view;
    this.#areTies = new Set(view.ties);
  }

  /** Copies older granules. */
  keep(from: number, to: number): void {
    const { starts, places, added } = this.#view;
    for (let granule = from; granule < to; granule++) {
      if (this.#areTies.has(granule)) this.ties.push(this.places.length);
      this.places.push(places[granule]!);
      this.added.push(added[granule]!);
      if (granule < starts.length) this.starts.push(starts[granule]!);
    }
  }

  add(starts: readonly SqlValue[], ties: readonly number[]): void {
    for (const tie of ties) this.ties.push(this.places.length + tie);
    for (const start of starts) {
      this.starts.push(start);
      this.places.push(-1);
      this.added.push(NONE);
    }
  }
}

const NONE: readonly number[] = [];
