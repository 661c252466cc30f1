import { FhirError } from '../../fhir/error.js';

/**
 * Runs a function of the host that verifies a token.
 *
 * @throws FhirError `unauthenticated` for errors of libraries that verify tokens; other errors as they are
 */
export async function withTokenErrors<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (error) {
    // A malformed name in a token is a fault of the token, not of the request.
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
