import { serve } from '@hono/node-server';
import { MemoryStore } from 'fhirgraph';
import { expressHost } from './express.js';
import { fastifyHost } from './fastify.js';
import { honoHost } from './hono.js';
import { nodeHttpHost } from './node-http.js';
import { createService } from './service.js';
import { welcome } from './start.js';
import { createTokens } from './tokens.js';

// `npm run example:express`, `example:fastify`, `example:hono` or `example:http` starts the same service on that framework.

const PORT = Number(process.env.PORT ?? 8080);
const baseUrl = `http://127.0.0.1:${PORT}/fhir/R4`;
const store = new MemoryStore();
const tokens = await createTokens();
const answer = createService({ store, tokens, baseUrl });
const [framework = 'express'] = process.argv.slice(2);

switch (framework) {
  case 'express':
    expressHost(answer).listen(PORT, '127.0.0.1');
    break;
  case 'fastify':
    await fastifyHost(answer).listen({ port: PORT, host: '127.0.0.1' });
    break;
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
