import { createServer, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { HttpResponse, HttpRequest } from 'fhirgraph';

/** A host without a framework. */
export function nodeHttpHost(
  answer: (request: HttpRequest & { signal: AbortSignal }) => Promise<HttpResponse>,
): Server {
  return createServer((req, res) => {
    void (async () => {
      const gone = new AbortController();
      res.on('close', () => gone.abort());
      const { method, url, headers } = req;
      const tooLong = Number(headers['content-length'] ?? 0) > 5_000_000 || headers['transfer-encoding'] !== undefined;
      if (tooLong) return void res.writeHead(413).end();
      const {
        status,
        headers: sent,
        body,
      } = await answer({ method, url, headers, body: await buffer(req), signal: gone.signal });
      res.writeHead(status, sent).end(body);
    })().catch(() => res.destroy());
  });
}
