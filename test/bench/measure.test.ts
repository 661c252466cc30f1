import { expect, test } from 'vitest';
import { compare, summary } from '../../bench/measure.js';
import { duration, judged, table } from '../../bench/table.js';

test('a summary is the median and the width of the middle half', () => {
  expect(summary([5, 1, 2, 4, 3])).toEqual({ median: 3, spread: 2 });
  expect(summary([4, 1, 3, 2])).toEqual({ median: 2.5, spread: 1.5 });
  expect(summary([7])).toEqual({ median: 7, spread: 0 });
});

test('rounds alternate the subjects, in reverse order every second time, with equal runs for all', async () => {
  const order: string[] = [];
  let counting = false;
  let clock = 0;
  const subject = (name: string) => ({
    name,
    run: () => {
      if (counting && order.at(-1) !== name) order.push(name);
      // Long enough for one run per sample.
      clock += 20;
    },
  });
  const [a, b] = [subject('a'), subject('b')];
  const startCounting = { name: 'c', run: () => void (counting = true) };
  const timings = await compare([a, b, startCounting], 3, () => (clock += 0.1));
  expect(timings.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  // The first subject of a reversed round follows its own last sample, so the turns of a round show as one.
  expect(order).toEqual(['a', 'b', 'a', 'b']);
});

test('durations have three significant digits', () => {
  expect([8.214, 82.14, 821.4, 8214, 82_140].map(duration)).toEqual([
    '8.21 µs',
    '82.1 µs',
    '821 µs',
    '8.21 ms',
    '82.1 ms',
  ]);
});

test('a figure is judged by its target', () => {
  expect(judged(1.3, 1.3)).toBe('1.30 ok (≤ 1.3)');
  expect(judged(1.31, 1.3)).toBe('1.31 MISS (≤ 1.3)');
  expect(judged(119.6, 120, 'MB')).toBe('120 MB ok (≤ 120 MB)');
});

test('a table aligns its first column left and numbers right', () => {
  expect(
    table([
      ['what', 'ms'],
      ['a', '1'],
      ['longer', '10'],
    ]),
  ).toBe(['what    ms', '------  --', 'a        1', 'longer  10'].join('\n'));
});
