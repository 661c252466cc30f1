import express, { type Express } from 'express';
import { type FhirHandler, toNodeListener } from 'fhirgraph/http';

/** A host on Express 5. Body parsers of other routes belong behind the handler, which reads bodies itself. */
export function expressHost(handler: FhirHandler): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(toNodeListener(handler));
  return app;
}
