import { expect, test } from 'vitest';
import { SharedRead } from '../../../src/stores/postgres/search/shared-read.js';

/** A read whose answers come when the test says so: the number of the read. */
function held() {
  const pending: PromiseWithResolvers<number>[] = [];
  const shared = new SharedRead(() => {
    const read = Promise.withResolvers<number>();
    pending.push(read);
    return read.promise;
  });
  return { shared, pending };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('callers during a read share one that begins after it', async () => {
  const { shared, pending } = held();
  const first = shared.get();
  const others = [shared.get(), shared.get(), shared.get()];
  await settle();
  expect(pending).toHaveLength(1);
  pending[0]!.resolve(0);
  expect(await first).toBe(0);
  await settle();
  expect(pending).toHaveLength(2);
  const late = shared.get();
  pending[1]!.resolve(1);
  expect(await Promise.all(others)).toEqual([1, 1, 1]);
  await settle();
  pending[2]!.resolve(2);
  expect(await late).toBe(2);
});

test('a read without others begins at once', async () => {
  const { shared, pending } = held();
  for (const number of [0, 1]) {
    const read = shared.get();
    expect(pending).toHaveLength(number + 1);
    pending[number]!.resolve(number);
    expect(await read).toBe(number);
  }
});

test('the error of a read reaches only its own callers', async () => {
  const { shared, pending } = held();
  const first = shared.get();
  const second = shared.get();
  pending[0]!.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await settle();
  pending[1]!.resolve(1);
  expect(await second).toBe(1);
});
