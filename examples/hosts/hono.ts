import { Hono } from 'hono';
import type { FhirHandler } from 'fhirgraph/http';

/** A host on Hono, and so on anything that speaks Fetch. */
export function honoHost(handler: FhirHandler): Hono {
  const app = new Hono();
  app.all('*', ({ req }) => handler(req.raw));
  return app;
}
