import fastify, { type FastifyInstance } from 'fastify';
import type { HttpRequest, HttpResponse } from 'fhirgraph';

/** A host on Fastify 5. */
export function fastifyHost(
  answer: (request: HttpRequest & { signal: AbortSignal }) => Promise<HttpResponse>,
): FastifyInstance {
  const app = fastify({ bodyLimit: 5_000_000 });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
  app.all('/*', async (req, reply) => {
    const gone = new AbortController();
    reply.raw.on('close', () => gone.abort());
    const { method, url, headers } = req;
    const { status, headers: sent, body } = await answer({ method, url, headers, body: req.body, signal: gone.signal });
    return reply.code(status).headers(sent).send(body);
  });
  return app;
}
