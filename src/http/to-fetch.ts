import type { FhirHandler, FhirHandlerOptions } from './exchange/handler-config.js';

/**
 * A function with the shape of `fetch` that asks the handler in this process, without a socket: for tests, and for
 * clients such as MedplumClient beside the service.
 *
 * @param options a caller for all requests; `signIn` is then not called
 *
 * @example
 * const medplum = new MedplumClient({ baseUrl: 'https://clinic.example/', fetch: toFetch(handler) });
 */
export function toFetch(handler: FhirHandler, options: FhirHandlerOptions = {}): typeof fetch {
  return async (input, init) => handler(new Request(input, init), options);
}
