import express, { type ErrorRequestHandler, type Express } from 'express';
import { type HttpRequest, type HttpResponse, toHttpResponse } from 'fhirgraph';

/** A host on Express 5. */
export function expressHost(
  answer: (request: HttpRequest & { signal: AbortSignal }) => Promise<HttpResponse>,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(express.raw({ type: () => true, limit: '5mb' }), async ({ method, url, headers, body }, res) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const sent = await answer({ method, url, headers, body: body as unknown, signal: gone.signal });
    res.status(sent.status).set(sent.headers).send(sent.body);
  });
  // What Express itself refuses, such as a body that is too long, keeps its status and says no more.
  const refuse: ErrorRequestHandler = (error: { status?: number }, _req, res, _next) => {
    const { status = 500 } = error;
    res.status(status).end(status === 500 ? toHttpResponse(new Error('internal')).body : '');
  };
  app.use(refuse);
  return app;
}
