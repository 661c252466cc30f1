import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Resource } from '@medplum/fhirtypes';
import { importNdjson, initialize, type MemberCaller, type ResourceStore, signIn, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { nodeHttpHost } from '../../examples/hosts/node-http.js';
import { createService } from '../../examples/hosts/service.js';
import { createTokens } from '../../examples/hosts/tokens.js';
import { smtpMailer } from '../../examples/mail/smtp-mailer.js';
import { type MailBox, openMailBox } from '../support/mail-box.js';
import { RECORDS } from './records.js';

/** The answer of a host. */
export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
}

/** A running service with a clinic in it: over HTTP, with tokens, SMTP and a SQLite file. */
export interface World {
  readonly store: ResourceStore;
  readonly box: MailBox;
  readonly project: string;
  /** The membership of the clinic's first administrator, and the caller that it signs in as. */
  readonly administrator: MemberCaller;
  /** Bearer tokens of the administrator, and of the client that may create projects. */
  readonly tokens: { readonly administrator: string; readonly operator: string };
  /** A token for a person or program; `sub` is `User/id` or `ClientApplication/id`. */
  token(sub: string, project?: string): Promise<string>;
  /** Sends a request, by default with the token of the administrator; null sends no token. */
  http(method: string, path: string, options?: { body?: unknown; token?: string | null }): Promise<Answer>;
  /** Sends a query over HTTP and returns its `data`; an answer with errors is a failure. */
  query(query: string, token?: string): Promise<{ [field: string]: unknown }>;
  /** Invites over HTTP. */
  invite(body: object, token?: string): Promise<Answer>;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const store = new SqliteStore(':memory:');
  const issuer = await createTokens();
  const box = await openMailBox();
  const mailer = smtpMailer(box.url, 'Riverside Clinic <no-reply@example.org>');
  const host: { service?: ReturnType<typeof createService> } = {};
  const server = nodeHttpHost((request) => host.service!(request)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  host.service = createService({ store, tokens: issuer, baseUrl: `${url}/fhir/R4`, mailer });

  const http: World['http'] = async (method, path, { body, token = tokens.administrator } = {}) => {
    const headers = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { method, headers, ...sent });
    const text = await response.text();
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      body: text === '' ? undefined : JSON.parse(text),
    };
  };

  // Sections 4.2 and 4.3 of the document, over HTTP, also create this world.
  const operations = await initialize(store, { name: 'Operations' });
  const operator = await issuer.sign({
    sub: `ClientApplication/${operations.client.id}`,
    project: operations.project.id,
  });
  const tokens = { operator, administrator: '' };
  const made = await http('POST', '/fhir/R4/Project', {
    body: { resourceType: 'Project', name: 'Riverside Clinic', strictMode: true },
    token: operator,
  });
  const project = (made.body as Resource).id!;
  await importNdjson([RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('')], {
    store,
    caller: systemCaller(project),
  });
  const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' };
  const first = await http('POST', `/admin/projects/${project}/invite`, {
    body: { ...ada, admin: true },
    token: operator,
  });
  const { id, user } = first.body as { id: string; user: { reference: string } };
  const token: World['token'] = (sub, where = project) => issuer.sign({ sub, project: where });
  tokens.administrator = await token(user.reference);
  return {
    store,
    box,
    project,
    administrator: await signIn(store, { membership: id }),
    tokens,
    token,
    http,
    async query(query, asker) {
      const options = asker === undefined ? {} : { token: asker };
      const { body } = await http('POST', '/fhir/R4/$graphql', { body: { query }, ...options });
      const { data, errors } = body as { data?: { [field: string]: unknown }; errors?: unknown };
      if (errors !== undefined || data === undefined) throw new Error(JSON.stringify(body));
      return data;
    },
    invite: (body, inviter) =>
      http('POST', `/admin/projects/${project}/invite`, { body, ...(inviter === undefined ? {} : { token: inviter }) }),
    async close() {
      server.closeAllConnections();
      server.close();
      mailer.close();
      await Promise.all([once(server, 'close'), box.close(), store.close()]);
    },
  };
}
