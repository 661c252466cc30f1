import { expect, test, vi } from 'vitest';
import { randomSecret } from '../../src/platform/crypto.js';
import { fitsHash, hashSecret } from '../../src/projects/clients/client-secret.js';

type Callback = (error: Error | null | undefined, key: Buffer) => void;
const crypto = process.getBuiltinModule('node:crypto');

/** Calls back as another runtime does. */
function answerWith(error: Error | undefined): void {
  vi.spyOn(crypto as { scrypt: (...call: unknown[]) => void }, 'scrypt').mockImplementation((...call) =>
    (call.at(-1) as Callback)(error, Buffer.alloc(32, 1)),
  );
}

test('secrets are hashed if the runtime calls back with undefined instead of null, like Bun', async () => {
  answerWith(undefined);
  const secret = randomSecret();
  expect(await fitsHash(secret, await hashSecret(secret))).toBe(true);
  vi.restoreAllMocks();
});

test('a failure of the runtime is a failure', async () => {
  const failure = new Error('no memory');
  answerWith(failure);
  await expect(hashSecret(randomSecret())).rejects.toBe(failure);
  vi.restoreAllMocks();
});
