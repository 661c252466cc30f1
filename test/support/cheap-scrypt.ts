import type * as NodeCrypto from 'node:crypto';

// A secret costs 60 ms of CPU by intent, and most tests of projects make some. A hash that a test makes is verified in the
// same test, so in `npm test` it may cost less than its text says. `npm run test:long` leaves the cost as it is.

const crypto: { scrypt: typeof NodeCrypto.scrypt } = process.getBuiltinModule('node:crypto');
const real = crypto.scrypt;
/** The cost of new secrets, see src/projects/clients/client-secret.ts. */
const COST_OF_SECRETS = 2 ** 14;

const cheap = ((secret, salt, length, options: NodeCrypto.ScryptOptions, callback) => {
  const cost = options.N === COST_OF_SECRETS ? { ...options, N: 2 } : options;
  real(secret, salt, length, cost, callback);
}) as typeof NodeCrypto.scrypt;

/** For the files that begin after this; setup.ts calls it before each. */
export function useCheapScrypt(): void {
  crypto.scrypt = cheap;
}

/** For the rest of a file: secrets cost what they cost in production, as those of fixtures and other processes do. */
export function useRealScrypt(): void {
  crypto.scrypt = real;
}
