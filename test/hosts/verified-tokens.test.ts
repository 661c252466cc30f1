import { afterEach, expect, test, vi } from 'vitest';
import { verifyOnce } from '../../examples/hosts/verified-tokens.js';

afterEach(() => {
  vi.useRealTimers();
});

/** Claims of tokens that expire after so many seconds, and the tokens that were verified. */
function counted(lifetime: number): { readonly verify: ReturnType<typeof verifyOnce>; readonly verified: string[] } {
  const verified: string[] = [];
  const verify = verifyOnce((token) => {
    verified.push(token);
    if (token.startsWith('forged')) return Promise.reject(new Error('no'));
    return Promise.resolve({ sub: token, exp: Date.now() / 1000 + lifetime });
  });
  return { verify, verified };
}

test('a token is verified once, each token separately', async () => {
  const { verify, verified } = counted(60);
  for (const token of ['a', 'b', 'a', 'b']) expect(await verify(token)).toMatchObject({ sub: token });
  expect(verified).toEqual(['a', 'b']);
});

test('an expired token is verified again', async () => {
  vi.useFakeTimers();
  const { verify, verified } = counted(60);
  await verify('a');
  vi.advanceTimersByTime(59_999);
  await verify('a');
  expect(verified).toEqual(['a']);
  vi.advanceTimersByTime(1);
  await verify('a');
  expect(verified).toEqual(['a', 'a']);
});

test('a long-lived token is verified every five minutes', async () => {
  vi.useFakeTimers();
  const { verify, verified } = counted(3_600);
  await verify('a');
  vi.advanceTimersByTime(5 * 60_000);
  await verify('a');
  expect(verified).toEqual(['a', 'a']);
});

test('a token without an expiry is verified each time', async () => {
  let count = 0;
  const verify = verifyOnce(() => Promise.resolve({ exp: undefined, count: (count += 1) }));
  await verify('a');
  expect(await verify('a')).toMatchObject({ count: 2 });
});

test('a refused token is not cached', async () => {
  const { verify, verified } = counted(60);
  for (let round = 0; round < 2; round += 1) await expect(verify('forged')).rejects.toThrow('no');
  expect(verified).toEqual(['forged', 'forged']);
});

test('at most 10,000 tokens are cached, the newest', async () => {
  const { verify, verified } = counted(60);
  for (let number = 0; number <= 10_000; number += 1) await verify(String(number));
  verified.length = 0;
  await verify('10000');
  await verify('1');
  await verify('0');
  expect(verified).toEqual(['0']);
});
