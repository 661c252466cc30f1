import { beforeAll, expect, test } from 'vitest';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { Turn } from '../../../src/stores/sqlite/threads/turn.js';

// Each piece of work takes a whole turn.
beforeAll(() => void Object.assign(THREAD_TUNING, { turnMs: 0 }));

async function orderOf(...calls: readonly (readonly [name: string, pieces: number])[]): Promise<readonly string[]> {
  const turn = new Turn();
  const order: string[] = [];
  const run = async ([name, pieces]: readonly [name: string, pieces: number]): Promise<void> => {
    for (let piece = 1; piece <= pieces; piece++) {
      await (name.startsWith('read') ? turn.nextForBrief() : turn.next());
      order.push(`${name} ${piece}`);
    }
  };
  await Promise.all(calls.map(run));
  return order;
}

test('long calls have their turns in the order in which they came', async () => {
  expect(await orderOf(['import', 4], ['commit', 1], ['history', 2])).toEqual([
    ...['import 1', 'commit 1', 'history 1'],
    ...['import 2', 'history 2'],
    ...['import 3', 'import 4'],
  ]);
});

test('a brief call passes the long ones that wait', async () => {
  expect(await orderOf(['import a', 2], ['import b', 2], ['read', 1])).toEqual([
    ...['read 1', 'import a 1', 'import b 1'],
    ...['import a 2', 'import b 2'],
  ]);
});

test('a flood of brief calls does not stop a long one', async () => {
  const order = await orderOf(['import', 2], ['read', 100]);
  expect([order.indexOf('import 1'), order.indexOf('import 2')]).toEqual([32, 65]);
});
