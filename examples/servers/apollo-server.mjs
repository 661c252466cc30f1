import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { ApolloServer, HeaderMap } from '@apollo/server';
import { ApolloServerPluginLandingPageDisabled } from '@apollo/server/plugin/disabled';
import { DEFAULT_LIMITS, executeFhirGraphql, printFhirSchema, toHttpResponse } from 'fhirgraph';
import { readJsonBody } from 'fhirgraph/http';
import { buildSchema, GraphQLError } from 'graphql';
import { statusOf, thrownError } from './graphql-errors.mjs';

/**
 * The engine behind the hook that Apollo Server has for gateways: it keeps HTTP, parsing and its plugins, and leaves all
 * execution to us. Its context must hold what `executeFhirGraphql` takes: `store`, `caller` and more.
 *
 * @param schema for Apollo's plugins alone; documents are held against that of the engine
 */
export function fhirGateway(schema) {
  return {
    onSchemaLoadOrUpdate(tell) {
      tell({ apiSchema: schema });
      return () => {};
    },
    load: async () => ({ executor: execute }),
    stop: async () => {},
  };
}

/** Options that the gateway needs beside itself. */
export const FHIR_OPTIONS = {
  // executeFhirGraphql validates, and takes more than the plain schema does: tokens as text, fields right on `resource`.
  dangerouslyDisableValidation: true,
  // Apollo parses before us.
  parseOptions: { maxTokens: DEFAULT_LIMITS.tokens },
  includeStacktraceInErrorResponses: false,
};

/** Longest body, in bytes. */
const LONGEST_BODY = 5_000_000;

/**
 * Apollo Server over a store, on `node:http`: its own `startStandaloneServer` logs what it cannot parse, and allows all
 * origins. With a framework, Apollo's integration for it stands in the place of this function.
 *
 * @param callerOf finds the caller of an `Authorization` header: your token verifier, then `signIn`
 * @param types the resource types that tools are told of; queries may use all of them
 * @returns the URL that is answered at, and how to stop
 */
export async function startApolloServer({ store, callerOf, types, port = 4000 }) {
  const apollo = new ApolloServer({
    gateway: fhirGateway(buildSchema(printFhirSchema({ types }))),
    ...FHIR_OPTIONS,
    // It would load its scripts from elsewhere.
    plugins: [ApolloServerPluginLandingPageDisabled()],
  });
  await apollo.start();
  const server = createServer((req, res) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const fhir = { store, signal: gone.signal, readonly: req.method === 'GET', introspection: { types } };
    const context = async () => ({ ...fhir, caller: await knownCaller(callerOf, req.headers.authorization) });
    respond(apollo, context, req, res).catch(() => res.destroy());
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/graphql`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await apollo.stop();
    },
  };
}

async function respond(apollo, context, req, res) {
  const { pathname, search } = new URL(req.url, 'http://localhost');
  if (pathname !== '/graphql') return res.writeHead(404).end();
  const length = Number(req.headers['content-length'] ?? 0);
  if (length > LONGEST_BODY || req.headers['transfer-encoding'] !== undefined) return res.writeHead(413).end();
  const bytes = await buffer(req);
  let body;
  try {
    if (req.method === 'POST') body = readJsonBody({ headers: req.headers, body: bytes });
  } catch (error) {
    const refused = toHttpResponse(error, { request: req });
    return res.writeHead(refused.status, refused.headers).end(refused.body);
  }
  const headers = new HeaderMap(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
  const httpGraphQLRequest = { method: req.method, headers, search, body };
  const answer = await apollo.executeHTTPGraphQLRequest({ httpGraphQLRequest, context });
  return res.writeHead(answer.status ?? 200, Object.fromEntries(answer.headers)).end(answer.body.string);
}

async function knownCaller(callerOf, authorization) {
  try {
    return await callerOf(authorization);
  } catch (error) {
    const { message, extensions, http } = thrownError(error);
    throw new GraphQLError(message, { extensions: { ...extensions, http } });
  }
}

async function execute({ source, request, context }) {
  // The name that was asked for: Apollo forgets one that the document does not have, and another operation would run.
  const { variables, operationName } = request;
  const result = await executeFhirGraphql(source, { ...context, variables, operationName });
  if (result.errors === undefined) return result;
  const status = statusOf(result);
  return { ...result, errors: result.errors.map((error) => asGraphqlError(error, status)) };
}

/** Apollo takes instances only, and the status of a response from its errors. */
function asGraphqlError({ message, locations, path, extensions }, status) {
  const http = status === 200 ? {} : { http: { status } };
  return Object.assign(new GraphQLError(message, { path, extensions: { ...extensions, ...http } }), { locations });
}
