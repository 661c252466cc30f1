import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginLandingPageDisabled } from '@apollo/server/plugin/disabled';
import { startStandaloneServer } from '@apollo/server/standalone';
import { DEFAULT_LIMITS, executeFhirGraphql, printFhirSchema } from 'fhirgraph';
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

/**
 * Apollo Server over a store.
 *
 * @param callerOf finds the caller of an `Authorization` header: your token verifier, then `signIn`
 * @param types the resource types that tools are told of; queries may use all of them
 * @returns the server, and the URL that it answers at
 */
export async function startApolloServer({ store, callerOf, types, port = 4000 }) {
  const server = new ApolloServer({
    gateway: fhirGateway(buildSchema(printFhirSchema({ types }))),
    ...FHIR_OPTIONS,
    // It would load its scripts from elsewhere.
    plugins: [ApolloServerPluginLandingPageDisabled()],
  });
  const { url } = await startStandaloneServer(server, {
    listen: { port, host: '127.0.0.1' },
    async context({ req, res }) {
      const caller = await Promise.resolve(callerOf(req.headers.authorization)).catch((error) => {
        const { message, extensions, http } = thrownError(error);
        throw new GraphQLError(message, { extensions: { ...extensions, http } });
      });
      const gone = new AbortController();
      res.on('close', () => gone.abort());
      return { store, caller, signal: gone.signal, readonly: req.method === 'GET', introspection: { types } };
    },
  });
  return { server, url };
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
