import { serve } from '@hono/node-server';
import { MemoryStore } from 'fhirgraph';
import { toNodeListener } from 'fhirgraph/http';
import { fhirHook } from './fastify.js';
import { honoHost } from './hono.js';
import { nodeHttpHost } from './node-http.js';
import { createService } from './service.js';
import { welcome } from './start.js';
import { createTokens } from './tokens.js';

// `npm run example:express`, `example:fastify`, `example:hono` or `example:http` starts the same service on that framework.
// `npm install --no-save express@5 fastify@5` installs the first two, which bring 115 packages.

const PORT = Number(process.env.PORT ?? 8080);
const baseUrl = `http://127.0.0.1:${PORT}/fhir/R4`;
const store = new MemoryStore();
const tokens = await createTokens();
const answer = createService({ store, tokens, baseUrl });
const [framework = 'http'] = process.argv.slice(2);

switch (framework) {
  case 'express': {
    const { default: express } = await import(framework);
    // Body parsers of other routes belong behind the handler, which reads bodies itself.
    express().use(toNodeListener(answer)).listen(PORT, '127.0.0.1');
    break;
  }
  case 'fastify': {
    const { default: fastify } = await import(framework);
    await fastify().addHook('onRequest', fhirHook(answer)).listen({ port: PORT, host: '127.0.0.1' });
    break;
  }
  case 'hono':
    serve({ fetch: honoHost(answer).fetch, port: PORT, hostname: '127.0.0.1' });
    break;
  case 'http':
    nodeHttpHost(answer).listen(PORT, '127.0.0.1');
    break;
  default:
    throw new Error(`No such host: ${framework}`);
}
await welcome(store, tokens, baseUrl);
