import { createYoga } from 'graphql-yoga';
import { extendSchema, isObjectType, parse, type GraphQLSchema } from 'graphql';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { createSchema, type Context } from '../variants/dataloader-schema.js';

/** Writes the text of a resource. */
export type WriteText = (id: string, text: string) => unknown;

/**
 * GraphQL Yoga with DataLoader and hand-written statements, as one would build it without this library. It verifies the
 * same kind of token, decides nothing about access, and writes a row without a history or an index.
 */
export async function yogaHost(contextOf: () => Context, write: WriteText): Promise<{ server: Server; token: string }> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const yoga = createYoga({
    schema: withWrites(write),
    graphqlEndpoint: '/graphql',
    graphiql: false,
    landingPage: false,
    logging: false,
    maskedErrors: false,
    async context({ request }) {
      await jwtVerify(request.headers.get('authorization')!.slice('Bearer '.length), publicKey);
      return contextOf();
    },
  });
  const token = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).setExpirationTime('1h').sign(privateKey);
  return { server: createServer((request, response) => void yoga(request, response)), token };
}

function withWrites(write: WriteText): GraphQLSchema {
  const schema = extendSchema(
    createSchema(),
    parse(`scalar ObservationInput
      type Mutation { ObservationCreate(res: ObservationInput!): Observation }
      extend schema { mutation: Mutation }`),
  );
  const mutation = schema.getMutationType();
  if (!isObjectType(mutation)) throw new Error('The schema has no mutation');
  mutation.getFields()['ObservationCreate']!.resolve = async (_source, { res }: { readonly res?: object }) => {
    const resource = { ...res, id: randomUUID(), meta: { lastUpdated: new Date().toISOString() } };
    await write(resource.id, JSON.stringify(resource));
    return resource;
  };
  return schema;
}
