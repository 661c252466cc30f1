import { addList, listAt, readList } from '../../../sql/skip/key-bytes.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { partWith } from '../../../sql/pages/value-range.js';
import type { SqlValue } from '../../../sql/sql.js';
import type { OrderView } from './order-view.js';
import { GRANULES_IN_ROW, type SkipOrder } from '../../rows/skip-row.js';
import type { RowName } from './skip-rows.js';

/** An order, with the numbers of each granule. */
export interface SkipOrderKeys extends SkipOrder {
  /** The numbers of a granule in ascending order. Load its rows first. @param granule from 0 up to the number of starts */
  keysOf(granule: number, among: KeySet): readonly number[];
  /** May add numbers that {@link SkipIndex.all} does not have. */
  addTo(set: KeySet, granule: number): void;
  /** The rows of some granules. */
  rowsOf(from: number, to: number): readonly RowName[];
}

/**
 * @param name of a row of the order
 * @param last the granule of the oldest layer that has no value
 * @param read a row with granules of the oldest layer
 */
export function orderKeys(
  view: OrderView,
  name: RowName,
  last: number,
  read: (row: RowName) => Uint8Array,
): SkipOrderKeys {
  const { places, added } = view;
  // PERF: those of a row are asked for one after the other.
  let [row, bytes] = [-1, undefined as Uint8Array | undefined];
  const listOf = (granule: number): Uint8Array => {
    const place = Math.floor(granule / GRANULES_IN_ROW);
    if (place !== row) bytes = read({ ...name, value: String(place) });
    row = place;
    const lists = Math.min(GRANULES_IN_ROW, last + 1 - place * GRANULES_IN_ROW);
    return listAt(bytes!, granule % GRANULES_IN_ROW, lists);
  };
  return {
    ...view,
    keysOf(granule, among) {
      const [place, later] = [places[granule]!, added[granule]!];
      const numbers = place < 0 ? [] : readList(listOf(place), 0, among);
      for (const number of later) if (among.has(number)) numbers.push(number);
      return numbers;
    },
    addTo(set, granule) {
      const place = places[granule]!;
      if (place >= 0) addList(set, listOf(place));
      for (const number of added[granule]!) set.add(number);
    },
    rowsOf(from, to) {
      const rows = new Set<number>();
      for (const place of places.slice(from, to + 1)) if (place >= 0) rows.add(Math.floor(place / GRANULES_IN_ROW));
      return [...rows].map((place) => ({ ...name, value: String(place) }));
    },
  };
}

/** The granule of the resources with one value, or with none (null); undefined if resources with other values are in it. */
export function granuleOf({ starts, ties }: SkipOrderKeys, value: SqlValue): number | undefined {
  if (value === null) return starts.length;
  const granule = partWith(starts, value);
  return ties.includes(granule) && starts[granule] === value ? granule : undefined;
}

/** The order of a type in which no resource has a value. */
export function orderWithoutValues(all: KeySet): SkipOrderKeys {
  return {
    // What was written since may have values, which are before this type's last granule.
    starts: [''],
    ties: [],
    several: false,
    keysOf: (granule, among) => (granule === 0 ? [] : among.keys()),
    addTo: (set, granule) => void (granule === 0 || set.unite(all)),
    rowsOf: () => [],
  };
}
