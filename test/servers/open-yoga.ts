import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createTokens } from '../../examples/hosts/tokens.js';
import { ENDPOINT, yogaHost, type YogaOptions } from '../../examples/yoga/server.js';
import { createProject, initialize, invite, MemoryStore, type ResourceStore } from '../../src/index.js';

/** Yoga on loopback over a clinic of one practitioner. */
export interface OpenYoga {
  /** Of the GraphQL endpoint. */
  readonly url: string;
  readonly store: ResourceStore;
  readonly project: string;
  readonly token: string;
  stop(): Promise<void>;
}

export async function openYoga(
  options: Partial<Omit<YogaOptions, 'token'>> & { readonly tellToken?: boolean } = {},
): Promise<OpenYoga> {
  const store = options.store ?? new MemoryStore();
  const tokens = await createTokens();
  const { caller } = await initialize(store, { name: 'Operations' });
  const { id } = await createProject({ resourceType: 'Project', name: 'Riverside Clinic' }, { store, caller });
  const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' } as const;
  const { user } = await invite(id, ada, { store, caller });
  const token = await tokens.sign({ sub: `User/${user.id}`, project: id }, '1h');
  const server = yogaHost({ ...options, store, tokens, ...(options.tellToken === true ? { token } : {}) });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${ENDPOINT}`,
    store,
    project: id,
    token,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.close();
    },
  };
}
