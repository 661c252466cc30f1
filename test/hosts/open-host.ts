import { serve } from '@hono/node-server';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { honoHost } from '../../examples/hosts/hono.js';
import { nodeHttpHost } from '../../examples/hosts/node-http.js';
import { createService } from '../../examples/hosts/service.js';
import { createTokens, type Tokens } from '../../examples/hosts/tokens.js';
import type { FhirHandler } from '../../src/http.js';
import { createProject, initialize, invite, MemoryStore } from '../../src/index.js';

/** Starts a host on loopback. @returns its port and a function that stops it */
type Start = (handler: FhirHandler) => Promise<{ readonly port: number; readonly stop: () => Promise<void> }>;

/** The hosts of examples/hosts that are installed. `npm run check:servers` has Express and Fastify. */
export const HOSTS: readonly (readonly [name: string, start: Start])[] = [
  ['node:http', (answer) => listening(nodeHttpHost(answer).listen(0, '127.0.0.1'))],
  ['Hono', (answer) => listening(serve({ fetch: honoHost(answer).fetch, port: 0, hostname: '127.0.0.1' }) as Server)],
];

/** A running host over a store with a clinic, and tokens of its callers. */
export interface OpenHost {
  readonly url: string;
  readonly store: MemoryStore;
  /** Errors that the handler reported. */
  readonly errors: readonly unknown[];
  readonly tokens: Tokens;
  readonly project: string;
  /** Tokens of the clinic's administrator, and of the program that can create projects. */
  readonly administrator: string;
  readonly operator: string;
  stop(): Promise<void>;
}

export async function openHost(start: Start): Promise<OpenHost> {
  const store = new MemoryStore();
  const tokens = await createTokens();
  let answer: FhirHandler = () => Promise.reject(new Error('not ready'));
  const { port, stop } = await start((request) => answer(request));
  const url = `http://127.0.0.1:${port}`;
  const errors: unknown[] = [];
  answer = createService({ store, tokens, baseUrl: `${url}/fhir/R4`, onError: (error) => errors.push(error) });
  const operations = await initialize(store, { name: 'Operations' });
  const context = { store, caller: operations.caller };
  const project = (await createProject({ resourceType: 'Project', name: 'Riverside Clinic' }, context)).id;
  const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' } as const;
  const { user } = await invite(project, { ...ada, admin: true }, context);
  return {
    url,
    store,
    errors,
    tokens,
    project,
    administrator: await tokens.sign({ sub: `User/${user.id}`, project }),
    operator: await tokens.sign({
      sub: `ClientApplication/${operations.client.id}`,
      project: operations.project.id,
    }),
    async stop() {
      await stop();
      await store.close();
    },
  };
}

async function listening(server: Server): Promise<{ port: number; stop: () => Promise<void> }> {
  if (!server.listening) await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
