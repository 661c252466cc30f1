import { afterEach, expect, test, vi } from 'vitest';
import { nextTurn } from '../../src/platform/timers.js';

afterEach(() => void vi.restoreAllMocks());

/** Loops whose steps take so long: who made a step, turn by turn. */
async function stepsByTurn(loops: number, steps: number, milliseconds: number): Promise<readonly string[]> {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const turns: string[] = [];
  let isOver = false;
  const count = (): void => {
    turns.push('');
    if (!isOver) setImmediate(count);
  };
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      count();
      resolve();
    });
  });
  const loop = async (name: string): Promise<void> => {
    for (let step = 0; step < steps; step++) {
      await nextTurn();
      now += milliseconds;
      turns[turns.length - 1] += name;
    }
  };
  await Promise.all(Array.from({ length: loops }, (_, index) => loop('abcdef'[index]!)));
  isOver = true;
  return turns.filter((names) => names !== '');
}

test('long loops continue one after the other, one in each turn of the event loop', async () => {
  expect(await stepsByTurn(4, 3, 10)).toEqual(['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd', 'a', 'b', 'c', 'd']);
});

test('short ones share a turn until its time is over', async () => {
  expect(await stepsByTurn(5, 2, 4)).toEqual(['abc', 'dea', 'bc', 'de']);
});

test('what takes no time continues in every turn', async () => {
  expect(await stepsByTurn(3, 3, 0)).toEqual(['abc', 'abc', 'abc']);
});

test('what waits when timers are replaced does not delay what comes later', async () => {
  vi.useFakeTimers();
  const lost = nextTurn().then(() => 'lost');
  vi.useRealTimers();
  await nextTurn();
  expect(await Promise.all([lost, nextTurn()])).toEqual(['lost', undefined]);
});

test('the end of a turn that never came is that of the next second', async () => {
  let now = 5_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  await nextTurn();
  // The end of this turn is lost.
  vi.stubGlobal('setImmediate', () => undefined);
  const none = nextTurn();
  vi.unstubAllGlobals();
  now += 2_000;
  await nextTurn();
  await expect(none).resolves.toBeUndefined();
});
