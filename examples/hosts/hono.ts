import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { HttpRequest, HttpResponse } from 'fhirgraph';

/** A host on Hono, and so on anything that speaks Fetch. */
export function honoHost(answer: (request: HttpRequest & { signal: AbortSignal }) => Promise<HttpResponse>): Hono {
  const app = new Hono();
  app.use(bodyLimit({ maxSize: 5_000_000, onError: (context) => context.body(null, 413) }));
  app.all('*', async ({ req: { raw } }) => {
    const { method, url, headers, signal } = raw;
    const sent = await answer({ method, url, headers, body: new Uint8Array(await raw.arrayBuffer()), signal });
    return new Response(sent.body === '' ? null : sent.body, { status: sent.status, headers: sent.headers });
  });
  return app;
}
