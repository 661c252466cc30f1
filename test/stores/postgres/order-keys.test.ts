import { expect, test } from 'vitest';
import { GRANULES_IN_ROW } from '../../../src/stores/postgres/rows/skip-row.js';
import { granuleListsText } from '../../../src/stores/postgres/skip/format/granule-lists.js';
import { orderKeys, type SkipOrderKeys } from '../../../src/stores/postgres/skip/read/order-keys.js';
import { OrderView } from '../../../src/stores/postgres/skip/read/order-view.js';
import { listBytes, listsBytes } from '../../../src/stores/sql/skip/key-bytes.js';
import { KeySet } from '../../../src/stores/sql/skip/key-set.js';
import { createRandom } from '../../../src/testing/random.js';
import { SEED } from '../../support/chance.js';

const SIZE = 4_000;

/** An order of random granules, with a layer, whose blocks are counted as they are made. */
function orderOf(granules: number, random: () => number): { keys: SkipOrderKeys; made: number[] } {
  const lists = Array.from({ length: granules + 1 }, (): number[] => []);
  for (let number = 0; number < SIZE; number++) lists[Math.floor(random() * lists.length)]!.push(number);
  const rows: Uint8Array[] = [];
  for (let first = 0; first < lists.length; first += GRANULES_IN_ROW) {
    rows.push(listsBytes(lists.slice(first, first + GRANULES_IN_ROW).map((list) => listBytes(list, 0))));
  }
  const starts = lists.slice(1).map((_, index) => index);
  const oldest = OrderView.of({ starts, ties: [], several: false });
  const cuts = [{ at: Math.floor(granules / 3), replaces: true, starts: [0.25, 0.5], ties: [] }];
  const added = new Map([
    [0, [7]],
    [Math.floor(granules / 3) + 1, [1, SIZE - 1]],
  ]);
  const view = oldest.with({ several: false, cuts, lists: granuleListsText(added) });
  const made: number[] = [];
  const blocks = new Map<number, KeySet>();
  const keys = orderKeys(
    view,
    { sort: 1, subject: 2, value: '' },
    granules,
    ({ value }) => rows[Number(value)]!,
    (block, fill) => {
      if (!blocks.has(block)) {
        made.push(block);
        const set = new KeySet(0, SIZE);
        fill(set);
        blocks.set(block, set);
      }
      return blocks.get(block)!;
    },
  );
  return { keys, made };
}

test(`many granules have the numbers of each of them, for full and partial blocks, ${SEED}`, () => {
  const random = createRandom(SEED);
  for (const granules of [3, 40, 300, 700]) {
    const { keys } = orderOf(granules, random);
    const all = Array.from({ length: keys.starts.length + 1 }, (_, granule) => granule);
    for (let round = 0; round < 30; round++) {
      const from = Math.floor(random() * all.length);
      const gap = random() < 0.5 ? -1 : Math.floor(random() * all.length);
      const some = all.slice(from, from + Math.floor(random() * all.length)).filter((one) => one !== gap);
      const [expected, found] = [new KeySet(0, SIZE), new KeySet(0, SIZE)];
      for (const granule of some) keys.addTo(expected, granule);
      keys.addAll(found, some);
      expect(found.keys()).toEqual(expected.keys());
    }
  }
});

test('full blocks are created once, and partial blocks are not', () => {
  const { keys, made } = orderOf(160, createRandom(1));
  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);
  keys.addAll(new KeySet(0, SIZE), range(1, 31));
  expect(made).toEqual([]);
  for (const [from, to] of [
    [0, 16],
    [3, 80],
    [0, 100],
  ] as const)
    keys.addAll(new KeySet(0, SIZE), range(from, to));
  expect(made).toEqual([0, 1, 2, 3, 4, 5]);
});
