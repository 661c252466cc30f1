import { hash } from 'node:crypto';

/** What is needed of a token's claims: until when it is valid, in seconds since 1970. */
export interface TokenClaims {
  readonly exp?: number | undefined;
}

/**
 * Verifies each token once: verifying a signature costs more than reading a patient. Claims are kept until the token
 * expires, and for five minutes at most, so that a key that you withdraw stops working by then.
 *
 * Only claims are kept. `signIn` decides with each request whether their owner may still sign in.
 *
 * @param verify checks the signature and the claims, and rejects tokens that are not valid; those are not kept
 */
export function verifyOnce<Claims extends TokenClaims>(
  verify: (token: string) => Promise<Claims>,
): (token: string) => Promise<Claims> {
  const kept = new Map<string, { readonly claims: Claims; readonly end: number }>();
  return async (token) => {
    // The memory of a process should hold no tokens.
    const key = hash('sha256', token, 'base64');
    const found = kept.get(key);
    if (found !== undefined && Date.now() < found.end) return found.claims;
    kept.delete(key);
    const claims = await verify(token);
    kept.set(key, { claims, end: Math.min((claims.exp ?? 0) * 1000, Date.now() + MAX_AGE_MS) });
    // A Map keeps the order of insertion.
    if (kept.size > MAX_TOKENS) kept.delete(kept.keys().next().value!);
    return claims;
  };
}

const MAX_TOKENS = 10_000;
const MAX_AGE_MS = 5 * 60_000;
