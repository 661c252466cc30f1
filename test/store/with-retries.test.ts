import { expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { Overtaken, withRetries } from '../../src/store/with-retries.js';

type Attempt = Parameters<Parameters<typeof withRetries>[1]>[0];

/** Work that is overtaken this often. */
function overtaken(times: number, seen: Attempt[]): (attempt: Attempt) => Promise<string | Overtaken> {
  return (attempt) => {
    seen.push(attempt);
    return Promise.resolve(attempt.number > times ? 'done' : new Overtaken(new Error(`lost ${attempt.number}`)));
  };
}

test('work is attempted until no other write overtakes it', async () => {
  const seen: Attempt[] = [];
  expect(await withRetries({ attempts: 4 }, overtaken(2, seen))).toBe('done');
  expect(seen).toEqual([
    { number: 1, isLast: false },
    { number: 2, isLast: false },
    { number: 3, isLast: false },
  ]);
});

test('the last attempt ends with its own error', async () => {
  const seen: Attempt[] = [];
  await expect(withRetries({ attempts: 3 }, overtaken(9, seen))).rejects.toThrow('lost 3');
  expect(seen.map(({ isLast }) => isLast)).toEqual([false, false, true]);
});

test('an error of the work causes no further attempt', async () => {
  let attempts = 0;
  const work = (): Promise<never> => {
    attempts += 1;
    throw new FhirError('forbidden', 'no');
  };
  await expect(withRetries({ attempts: 3 }, work)).rejects.toMatchObject({ code: 'forbidden' });
  expect(attempts).toBe(1);
});

test('a signal ends the attempts with its reason, also in a pause', async () => {
  for (const pauses of [false, true]) {
    const controller = new AbortController();
    let attempts = 0;
    const work = (): Promise<Overtaken> => {
      attempts += 1;
      controller.abort(new Error('enough'));
      return Promise.resolve(new Overtaken());
    };
    const call = withRetries({ attempts: 1_000, pauses, signal: controller.signal }, work);
    await expect(call).rejects.toMatchObject({ code: 'aborted', cause: new Error('enough') });
    expect(attempts).toBe(1);
  }
});
