import type * as NodeCrypto from 'node:crypto';

// Hashing a secret takes 60 ms of CPU by design, and most tests of projects create secrets. A test verifies only its own
// hashes, so in `npm test` they can cost less than they state. `npm run test:long` does not change the cost.

const crypto: { scrypt: typeof NodeCrypto.scrypt } = process.getBuiltinModule('node:crypto');
const real = crypto.scrypt;
/** The cost of new secrets, see src/projects/clients/client-secret.ts. */
const COST_OF_SECRETS = 2 ** 14;

const cheap = ((secret, salt, length, options: NodeCrypto.ScryptOptions, callback) => {
  const cost = options.N === COST_OF_SECRETS ? { ...options, N: 2 } : options;
  real(secret, salt, length, cost, callback);
}) as typeof NodeCrypto.scrypt;

/** Applies to the files that begin after this call; setup.ts calls it before each. */
export function useCheapScrypt(): void {
  crypto.scrypt = cheap;
}

/** Applies to the rest of a file: secrets have the cost of production, like those of fixtures and other processes. */
export function useRealScrypt(): void {
  crypto.scrypt = real;
}
