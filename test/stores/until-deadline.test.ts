import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { assertNotAborted } from '../../src/store.js';
import { untilDeadline } from '../../src/stores/postgres/database/until-deadline.js';
import { stopClock } from '../support/stop-clock.js';

const later = (): number => performance.now() + 60_000;

test('a call that has ended leaves no listener on the signal of its caller', async () => {
  const { signal } = new AbortController();
  await untilDeadline({ signal, deadline: later() }, async (bounded) => {
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    expect(bounded?.signal?.aborted).toBe(false);
  });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each(['before the call', 'during the call'])(
  'a signal that fires %s ends the work, and is not a deadline',
  async (when) => {
    const controller = new AbortController();
    if (when === 'before the call') controller.abort();
    const call = untilDeadline({ signal: controller.signal, deadline: later() }, async (bounded) => {
      controller.abort();
      assertNotAborted(bounded);
    });
    const error = await call.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'aborted' });
    expect((error as { details?: object }).details ?? {}).not.toHaveProperty('deadline');
  },
);

test('a deadline is still a deadline if the signal fires before the work has ended', async () => {
  const clock = stopClock();
  const controller = new AbortController();
  const call = untilDeadline({ signal: controller.signal, deadline: performance.now() + 5 }, async (bounded) => {
    await clock.pass(5);
    // The timeout of the request that makes the call.
    controller.abort();
    assertNotAborted(bounded);
  });
  await expect(call).rejects.toMatchObject({ code: 'aborted', details: { deadline: true } });
});
