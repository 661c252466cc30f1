import type { FhirHandler, FhirHandlerOptions } from './exchange/handler-config.js';

/**
 * Turns the handler into a function with the signature of `fetch` that needs no socket: for tests, and for clients such
 * as MedplumClient in the same process.
 *
 * @param options a caller for all requests; `signIn` is then not called
 *
 * @example
 * const medplum = new MedplumClient({ baseUrl: 'https://clinic.example/', fetch: toFetch(handler) });
 */
export function toFetch(handler: FhirHandler, options: FhirHandlerOptions = {}): typeof fetch {
  return async (input, init) => handler(new Request(input, init), options);
}
