import fastify, { type FastifyInstance } from 'fastify';
import { type FhirHandler, toNodeListener } from 'fhirgraph/http';

/** A host on Fastify 5. The hook comes before Fastify's body parsers. */
export function fastifyHost(handler: FhirHandler): FastifyInstance {
  const app = fastify();
  const listener = toNodeListener(handler);
  app.addHook('onRequest', async (req, reply) => {
    reply.hijack();
    listener(req.raw, reply.raw);
  });
  return app;
}
