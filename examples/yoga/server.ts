import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import { createServer, type Server } from 'node:http';
import { createYoga } from 'graphql-yoga';
import { FhirError, type IntrospectionOption, type ResourceStore } from 'fhirgraph';
import type { Tokens } from '../hosts/tokens.js';
import { asGraphqlError, useFhirGraphql } from './use-fhir-graphql.js';

export interface YogaOptions {
  readonly store: ResourceStore;
  readonly tokens: Tokens;
  /** The resource types that GraphiQL knows: the schema of all of them is more than a browser likes. */
  readonly introspection?: IntrospectionOption;
  /** The bearer token that GraphiQL sends. Whoever opens the page gets it: for demonstrations only. */
  readonly token?: string;
  /** What GraphiQL shows at first. */
  readonly query?: string;
}

export const ENDPOINT = '/fhir/R4/$graphql';

/** GraphQL Yoga over a store: POST and GET at {@link ENDPOINT}, and GraphiQL there for browsers. */
export function yogaHost({ store, tokens, introspection, token, query }: YogaOptions): Server {
  const yoga = createYoga({
    graphqlEndpoint: ENDPOINT,
    landingPage: false,
    logging: 'warn',
    plugins: [useFhirGraphql()],
    async context({ request }) {
      const { headers, signal } = request;
      const caller = await tokens.callerOf(headers.get('authorization'), store).catch((error) => {
        throw asGraphqlError(error);
      });
      if (caller === undefined) throw asGraphqlError(new FhirError('unauthenticated', 'A bearer token is needed'));
      return { store, caller, signal, introspection, readonly: request.method === 'GET' };
    },
    // From this process: the page that Yoga would send otherwise loads its scripts from elsewhere.
    renderGraphiQL,
    graphiql: {
      title: 'FHIR GraphQL',
      ...(query === undefined ? {} : { defaultQuery: query }),
      ...(token === undefined ? {} : { additionalHeaders: { authorization: `Bearer ${token}` } }),
    },
  });
  return createServer((request, response) => void yoga(request, response));
}
