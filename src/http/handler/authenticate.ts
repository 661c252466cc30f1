import { type Caller, isCaller } from '../../access/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import { withTokenErrors } from '../exchange/token-errors.js';

/**
 * The caller of a request.
 *
 * @param given a caller that the host has already signed in
 * @returns undefined if the request has no token
 * @throws FhirError as `signIn` throws it; `unauthenticated` for errors of libraries that verify tokens
 */
export async function authenticate(exchange: Exchange, given: Caller | undefined): Promise<Caller | undefined> {
  if (given !== undefined) return genuine(given);
  const { signIn, store } = exchange.settings;
  return withTokenErrors(async () => genuine(await signIn(exchange.request, { store })));
}

function genuine(caller: unknown): Caller | undefined {
  if (caller === undefined || caller === null || isCaller(caller)) return caller ?? undefined;
  throw new TypeError('signIn must give a caller of this library, from its function signIn, or undefined');
}
