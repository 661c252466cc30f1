import { createServer, type Server } from 'node:http';
import { type FhirHandler, toNodeListener } from 'fhirgraph/http';

/** A host without a framework. */
export function nodeHttpHost(handler: FhirHandler): Server {
  return createServer(toNodeListener(handler));
}
