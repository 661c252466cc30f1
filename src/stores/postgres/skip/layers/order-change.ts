import { isBefore, partWith } from '../../../sql/pages/value-range.js';
import type { SqlValue } from '../../../sql/sql.js';
import { compareValues } from '../../../sql/texts.js';
import { granuleListsText } from '../format/granule-lists.js';
import type { LayerOrder, OrderCut, SkipOrder } from '../../rows/skip-row.js';
import { SKIP_TUNING } from '../../rows/skip-row.js';

/** A resource in an order. */
export interface OrderEntry {
  readonly number: number;
  readonly value: SqlValue;
}

/** The changes of a layer in the granules of an order. */
export class OrderChange {
  readonly #order: SkipOrder;
  readonly #ties: ReadonlySet<number>;
  /** The resources that existing granules get. */
  readonly #kept = new Map<number, OrderEntry[]>();
  /** The resources of new granules, by the existing granule before them; -1: before all. */
  readonly #fresh = new Map<number, OrderEntry[]>();
  /** Existing granules that new ones replace. */
  readonly #replaced = new Set<number>();
  readonly #missing: readonly number[];

  /** @param missing the numbers of resources without a value, in ascending order */
  constructor(order: SkipOrder, entries: readonly OrderEntry[], missing: readonly number[]) {
    this.#order = order;
    this.#missing = missing;
    this.#ties = new Set(order.ties);
    for (const entry of entries) this.#place(entry);
  }

  #place(entry: OrderEntry): void {
    const { starts } = this.#order;
    const { value } = entry;
    const granule = partWith(starts, value);
    if (granule === 0 && isBefore(value, starts[0]!)) push(this.#fresh, -1, entry);
    else if (this.#ties.has(granule) && value !== starts[granule]) push(this.#fresh, granule, entry);
    else push(this.#kept, granule, entry);
  }

  /** True if the layer needs no new granules. */
  get fits(): boolean {
    return this.#fresh.size === 0;
  }

  /** The number of resources that each existing granule gets, without ties. */
  get grown(): ReadonlyMap<number, number> {
    const counts = [...this.#kept].map(([granule, { length }]) => [granule, length] as const);
    return new Map(counts.filter(([granule]) => !this.#ties.has(granule)));
  }

  /** Divides a granule. @param members its resources without those of the layer */
  divide(granule: number, members: readonly OrderEntry[]): void {
    this.#replaced.add(granule);
    this.#fresh.set(granule, [...(this.#kept.get(granule) ?? []), ...members]);
    this.#kept.delete(granule);
  }

  row(several: boolean): LayerOrder {
    const cuts: OrderCut[] = [];
    const lists = new Map<number, readonly number[]>();
    let place = 0;
    const { length } = this.#order.starts;
    for (let granule = -1; granule < length; granule++) {
      if (granule >= 0 && !this.#replaced.has(granule)) {
        const kept = this.#kept.get(granule);
        if (kept !== undefined) lists.set(place, ascending(kept));
        place++;
      }
      const fresh = this.#fresh.get(granule);
      if (fresh === undefined) continue;
      const granules = granulesOf(fresh);
      const ties = [...granules.keys()].filter((index) => granules[index]!.isTie);
      const starts = granules.map(({ entries }) => entries[0]!.value);
      cuts.push({ at: granule, replaces: this.#replaced.has(granule), starts, ties });
      for (const { entries } of granules) lists.set(place++, ascending(entries));
    }
    if (this.#missing.length > 0) lists.set(place, this.#missing);
    return { several, cuts, lists: granuleListsText(lists) };
  }
}

interface Cut {
  readonly entries: OrderEntry[];
  readonly isTie: boolean;
}

/** Granules like those of a build: equal values are never in two, and a value of many resources has its own granule. */
function granulesOf(entries: readonly OrderEntry[]): readonly Cut[] {
  const { granule } = SKIP_TUNING;
  const sorted = [...entries].sort((one, other) => compareValues(one.value, other.value));
  const granules: Cut[] = [];
  for (let start = 0, end; start < sorted.length; start = end) {
    end = start + 1;
    while (end < sorted.length && sorted[end]!.value === sorted[start]!.value) end++;
    const equal = sorted.slice(start, end);
    const last = granules.at(-1);
    const isTie = equal.length >= Math.ceil(granule / 2);
    if (isTie || last === undefined || last.isTie || last.entries.length + equal.length > granule) {
      granules.push({ entries: equal, isTie });
    } else last.entries.push(...equal);
  }
  return granules;
}

function ascending(entries: readonly OrderEntry[]): readonly number[] {
  return entries.map(({ number }) => number).sort((a, b) => a - b);
}

function push<Key>(lists: Map<Key, OrderEntry[]>, key: Key, entry: OrderEntry): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [entry]);
  else list.push(entry);
}
