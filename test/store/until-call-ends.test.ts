import { afterEach, expect, test, vi } from 'vitest';
import { untilCallEnds } from '../../src/store/guards.js';

afterEach(() => void vi.restoreAllMocks());

test('a signal that fired before ends the wait', async () => {
  const never = new Promise<void>(() => undefined);
  await expect(untilCallEnds(never, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
});

test('a deadline that has passed ends the wait, without a warning of the runtime', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const never = new Promise<void>(() => undefined);
  const wait = untilCallEnds(never, { deadline: performance.now() - 1_000 });
  await expect(wait).rejects.toMatchObject({ code: 'aborted', details: { deadline: true } });
  // Node.js prints a warning for a negative delay.
  expect(timers.mock.calls.map(([, delay]) => delay)).toEqual([0]);
});
