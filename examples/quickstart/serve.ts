import { createServer, type Server } from 'node:http';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import type { Caller, ResourceStore } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';
import { UsageError } from './arguments.js';
import type { Example } from './queries.js';

/** GraphiQL completes and documents these types. The schema of all 150 types makes its editor slow. */
const TYPES = [
  ...['Patient', 'Practitioner', 'Organization', 'Location', 'Encounter', 'Condition', 'Observation', 'Procedure'],
  ...['DiagnosticReport', 'MedicationRequest', 'Medication', 'Immunization', 'AllergyIntolerance', 'CarePlan', 'Claim'],
];
const BASE = '/fhir/R4';
/** `fragment Name on Type { … }` in one line. */
const FRAGMENT = /^fragment (\w+) on \w+ (.*)$/gm;

export interface ServeOptions {
  readonly store: ResourceStore;
  readonly caller: Caller;
  /** The queries that GraphiQL opens with. Each is a named operation. */
  readonly examples: readonly Example[];
  /** 0 takes a free one. */
  readonly port: number;
}

/**
 * Serves GraphiQL and the FHIR service on this machine only. The page carries a token that this process made up, so
 * other pages that the browser has open cannot use the service.
 *
 * @throws UsageError - the port is taken, or GraphiQL is not installed
 */
export async function serve({ store, caller, examples, port }: ServeOptions): Promise<{ server: Server; url: string }> {
  const renderGraphiQL = await loadGraphiql();
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Port ${port} cannot be opened (${error.code}). Choose another one with --port.`);
  });
  const { port: opened } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${opened}/`;
  const hosts = [`127.0.0.1:${opened}`, `localhost:${opened}`];
  const authorization = `Bearer ${randomBytes(24).toString('base64url')}`;
  const page = renderGraphiQL({
    title: 'fhirgraph quickstart',
    endpoint: `${BASE}/$graphql`,
    additionalHeaders: { authorization },
    defaultQuery: [
      '# Ctrl+Enter runs the operation at the cursor. Ctrl+Space completes.',
      ...examples.map((example) => `# ${example.title}\n${withValues(example)}\n`),
    ].join('\n'),
  });
  const service = toNodeListener(
    createFhirHandler({
      store,
      baseUrl: `http://127.0.0.1:${opened}${BASE}`,
      introspection: { types: TYPES },
      audit: false,
      onError: (error) => console.error(error),
      signIn: ({ headers }) => (headers.get('authorization') === authorization ? caller : undefined),
    }),
  );
  server.on('request', (request, response) => {
    if (!hosts.includes(request.headers.host ?? '')) {
      // DNS rebinding: the page of another site, whose name now resolves to this machine.
      response.writeHead(421).end();
    } else if (request.url === '/') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(page);
    } else {
      service(request, response);
    }
  });
  return { server, url };
}

/**
 * The query with its variables and fragments written out: GraphiQL's default query has no variables, and GraphiQL sends
 * all fragments of the editor with the one operation that it runs.
 */
function withValues({ query, variables = {} }: Example): string {
  const fragments = new Map([...query.matchAll(FRAGMENT)].map(([, name, body]) => [name, body]));
  return query
    .replaceAll(FRAGMENT, '')
    .replaceAll(/\{ \.\.\.(\w+) \}/g, (_, name: string) => fragments.get(name)!)
    .replace(/^(query \w+)\(.*\)/, '$1')
    .replaceAll(/\$(\w+)/g, (_, name: string) => JSON.stringify(variables[name]));
}

/** The page and its scripts, from a package: nothing is loaded from elsewhere. */
async function loadGraphiql(): Promise<typeof renderGraphiQL> {
  try {
    return (await import('@graphql-yoga/render-graphiql')).renderGraphiQL;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UsageError('--serve needs GraphiQL: npm install @graphql-yoga/render-graphiql');
  }
}
