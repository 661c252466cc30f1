import { type Caller, isCaller } from '../../access/caller.js';
import { FhirError } from '../../fhir/error.js';
import type { Exchange } from '../exchange/exchange.js';

/**
 * The caller of a request.
 *
 * @param given by the host, which knows it already
 * @returns undefined if the request has no token
 * @throws FhirError as `signIn` throws it; `unauthenticated` for errors of libraries that verify tokens
 */
export async function authenticate(exchange: Exchange, given: Caller | undefined): Promise<Caller | undefined> {
  if (given !== undefined) return genuine(given);
  try {
    return genuine(await exchange.settings.signIn(exchange.request));
  } catch (error) {
    // Names in a token that cannot be names are no mistake of the request.
    const isMalformed = error instanceof FhirError && error.code === 'invalid';
    if (!isMalformed && !isTokenError(error)) throw error;
    throw new FhirError('unauthenticated', 'The token is not valid', { cause: error });
  }
}

/** An error of jose, jsonwebtoken or fast-jwt about a token, and not about the keys to verify it with. */
function isTokenError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  if (TOKEN_ERRORS.has(error.name)) return true;
  return typeof code === 'string' && /^(ERR_(JWT|JWS|JWE|JOSE)_|ERR_JWKS_NO_MATCHING_KEY|FAST_JWT_)/.test(code);
}

const TOKEN_ERRORS: ReadonlySet<string> = new Set(['JsonWebTokenError', 'TokenExpiredError', 'NotBeforeError']);

function genuine(caller: unknown): Caller | undefined {
  if (caller === undefined || caller === null || isCaller(caller)) return caller ?? undefined;
  throw new TypeError('signIn must give a caller of this library, from its function signIn, or undefined');
}
