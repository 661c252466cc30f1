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
  /** {@link addTo} for many granules, in ascending order. */
  addAll(set: KeySet, granules: readonly number[]): void;
  /** The rows of some granules. */
  rowsOf(from: number, to: number): readonly RowName[];
}

/**
 * @param name the name of a row of the order
 * @param last the granule of the oldest layer that has no value
 * @param read a row with granules of the oldest layer
 * @param keepBlock returns the set of a block of granules, which is made once
 */
export function orderKeys(
  view: OrderView,
  name: RowName,
  last: number,
  read: (row: RowName) => Uint8Array,
  keepBlock: (block: number, fill: (set: KeySet) => void) => KeySet,
): SkipOrderKeys {
  const { places, added } = view;
  const block = Math.max(LEAST_BLOCK, Math.ceil(places.length / MOST_BLOCKS));
  // PERF: granules of one row are read one after the other.
  let [row, bytes] = [-1, undefined as Uint8Array | undefined];
  const listOf = (granule: number): Uint8Array => {
    const place = Math.floor(granule / GRANULES_IN_ROW);
    if (place !== row) bytes = read({ ...name, value: String(place) });
    row = place;
    const lists = Math.min(GRANULES_IN_ROW, last + 1 - place * GRANULES_IN_ROW);
    return listAt(bytes!, granule % GRANULES_IN_ROW, lists);
  };
  const addTo = (set: KeySet, granule: number): void => {
    const place = places[granule]!;
    if (place >= 0) addList(set, listOf(place));
    for (const number of added[granule]!) set.add(number);
  };
  return {
    ...view,
    keysOf(granule, among) {
      const [place, later] = [places[granule]!, added[granule]!];
      const numbers = place < 0 ? [] : readList(listOf(place), 0, among);
      for (const number of later) if (among.has(number)) numbers.push(number);
      return numbers;
    },
    addTo,
    addAll(set, granules) {
      for (let at = 0; at < granules.length;) {
        const first = granules[at]!;
        if (first % block === 0 && granules[at + block - 1] === first + block - 1) {
          const ofBlock = granules.slice(at, at + block);
          set.unite(keepBlock(first / block, (made) => ofBlock.forEach((one) => addTo(made, one))));
          at += block;
        } else {
          addTo(set, first);
          at += 1;
        }
      }
    },
    rowsOf(from, to) {
      const rows = new Set<number>();
      for (const place of places.slice(from, to + 1)) if (place >= 0) rows.add(Math.floor(place / GRANULES_IN_ROW));
      return [...rows].map((place) => ({ ...name, value: String(place) }));
    },
  };
}

/**
 * Minimum granules of a block. PERF: reading a number from the list of a granule takes some nanoseconds, uniting the
 * sets of blocks a fraction of that, and many ranges include most of an order.
 */
const LEAST_BLOCK = 16;

/** Maximum blocks of an order: each takes a bit per resource of the type. */
const MOST_BLOCKS = 16;

/** The granule of the resources with one value, or with none (null); undefined if resources with other values are in it. */
export function granuleOf({ starts, ties }: SkipOrderKeys, value: SqlValue): number | undefined {
  if (value === null) return starts.length;
  const granule = partWith(starts, value);
  return ties.includes(granule) && starts[granule] === value ? granule : undefined;
}

/** The order of a type in which no resource has a value. */
export function orderWithoutValues(all: KeySet): SkipOrderKeys {
  return {
    // Resources written since may have values, which come before this type's last granule.
    starts: [''],
    ties: [],
    several: false,
    keysOf: (granule, among) => (granule === 0 ? [] : among.keys()),
    addTo: (set, granule) => void (granule === 0 || set.unite(all)),
    addAll: (set, granules) => void (granules.at(-1) === 1 && set.unite(all)),
    rowsOf: () => [],
  };
}
