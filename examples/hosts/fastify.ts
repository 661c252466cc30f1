import type { IncomingMessage, ServerResponse } from 'node:http';
import { type FhirHandler, toNodeListener } from 'fhirgraph/http';

/**
 * The whole service in Fastify 5, before its body parsers: `app.addHook('onRequest', fhirHook(handler))`. A route for the
 * same address would never be reached.
 */
export function fhirHook(handler: FhirHandler) {
  const listener = toNodeListener(handler);
  return async (
    request: { readonly raw: IncomingMessage },
    reply: { readonly raw: ServerResponse; hijack(): unknown },
  ): Promise<void> => {
    reply.hijack();
    listener(request.raw, reply.raw);
  };
}
