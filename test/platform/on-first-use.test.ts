import { expect, test } from 'vitest';
import { onFirstUse } from '../../src/platform/shared-work.js';
import { countTurns } from '../support/count-turns.js';

test('what is loaded is used in a later turn, and loaded once', async () => {
  let loads = 0;
  const load = onFirstUse(async () => ({ number: (loads += 1) }));
  const first = await countTurns(() => Promise.all([load(), load()]));
  expect(first.result).toEqual([{ number: 1 }, { number: 1 }]);
  expect(first.turns).toBeGreaterThanOrEqual(1);
  const later = await countTurns(load);
  expect(later).toEqual({ result: { number: 1 }, turns: 0 });
});

test('loading that failed is tried again by the next use', async () => {
  let isFailing = true;
  const load = onFirstUse(async () => {
    if (isFailing) throw new Error('no such file');
    return 'loaded';
  });
  await expect(load()).rejects.toThrow('no such file');
  isFailing = false;
  await expect(load()).resolves.toBe('loaded');
});
