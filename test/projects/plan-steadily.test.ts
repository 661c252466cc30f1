import { describe, expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { planSteadily } from '../../src/projects/session/commit-planned.js';

/** Ends as listed, one outcome after the other; the last outcome repeats. */
function planOf(...outcomes: readonly (string | FhirError)[]): { plan: () => Promise<string>; times: () => number } {
  let times = 0;
  const plan = (): Promise<string> => {
    const outcome = outcomes[Math.min(times, outcomes.length - 1)]!;
    times += 1;
    return outcome instanceof FhirError ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
  return { plan, times: () => times };
}

const conflict = (message: string): FhirError => new FhirError('conflict', message);

describe('planning during other writes', () => {
  test('is not ended by a conflict that is gone on the next attempt', async () => {
    const { plan, times } = planOf(conflict('a profile of nobody'), 'linked');
    await expect(planSteadily(plan, {})).resolves.toBe('linked');
    expect(times()).toBe(2);
  });

  test('is ended by a conflict that is found twice in a row', async () => {
    const { plan, times } = planOf(conflict('one'), conflict('two'), conflict('two'), 'linked');
    await expect(planSteadily(plan, {})).rejects.toMatchObject({ code: 'conflict', message: 'two' });
    expect(times()).toBe(3);
  });

  test('is ended at once by other errors', async () => {
    const { plan, times } = planOf(new FhirError('forbidden', 'no'), 'linked');
    await expect(planSteadily(plan, {})).rejects.toMatchObject({ code: 'forbidden' });
    expect(times()).toBe(1);
  });

  test('is not repeated after the signal', async () => {
    const controller = new AbortController();
    const { plan, times } = planOf(conflict('one'), 'linked');
    const planned = planSteadily(
      () => {
        controller.abort();
        return plan();
      },
      { signal: controller.signal },
    );
    await expect(planned).rejects.toMatchObject({ code: 'aborted' });
    expect(times()).toBe(1);
  });
});
