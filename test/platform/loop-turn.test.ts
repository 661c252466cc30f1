import { beforeEach, expect, test } from 'vitest';
import { inTurns, LoopTurn, PACE, Pace } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';
import { stopClock } from '../support/stop-clock.js';

// Each piece of work takes a whole turn.
beforeEach(() => void Object.assign(PACE, { turnMs: 0 }));

async function orderOf(...calls: readonly (readonly [name: string, pieces: number])[]): Promise<readonly string[]> {
  const turn = new LoopTurn();
  const order: string[] = [];
  const run = async ([name, pieces]: readonly [name: string, pieces: number]): Promise<void> => {
    for (let piece = 1; piece <= pieces; piece++) {
      await (name.startsWith('read') ? turn.next() : name.startsWith('query') ? turn.nextOfBegun() : turn.nextOfLong());
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

test('calls that have begun and calls that have not alternate', async () => {
  expect(await orderOf(['read a', 1], ['read b', 1], ['read c', 1], ['query', 3])).toEqual([
    ...['query 1', 'read a 1', 'query 2', 'read b 1', 'query 3', 'read c 1'],
  ]);
});

test('a flood of brief calls does not stop a long one', async () => {
  const order = await orderOf(['import', 2], ['read', 100]);
  expect([order.indexOf('import 1'), order.indexOf('import 2')]).toEqual([32, 65]);
});

test('calls that run at the same time share each turn of the event loop', async () => {
  const steps = function* (): Generator<void, void> {
    for (let step = 0; step < 50; step++) yield;
  };
  const { turns } = await countTurns(() => Promise.all(Array.from({ length: 4 }, () => inTurns(steps(), new Pace()))));
  expect(turns).toBeGreaterThanOrEqual(4 * 50 - 4);
});

test('a turn whose clock a host has replaced is spent, and the next one is not', async () => {
  const turn = new LoopTurn();
  PACE.turnMs = 1e9;
  expect(turn.isSpent).toBe(false);
  // It begins at zero.
  stopClock();
  expect(turn.isSpent).toBe(true);
  await turn.next();
  expect(turn.isSpent).toBe(false);
});
