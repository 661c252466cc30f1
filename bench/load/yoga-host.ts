import { createYoga } from 'graphql-yoga';
import { extendSchema, isObjectType, parse, type GraphQLSchema } from 'graphql';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { verifyOnce } from '../../examples/hosts/verified-tokens.js';
import { createSchema, type Context } from '../variants/dataloader-schema.js';
import type { HandWritten, WrittenObservation } from './hand-written.js';

/**
 * GraphQL Yoga with DataLoader and hand-written statements, as a host would build it without this library. It verifies the
 * same kind of token in the same way; `hand` determines its other promises.
 */
export async function yogaHost(
  contextOf: () => Context,
  hand: HandWritten,
  user: string,
): Promise<{ server: Server; token: string }> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const verify = verifyOnce(async (token) => (await jwtVerify(token, publicKey, { algorithms: ['ES256'] })).payload);
  const yoga = createYoga({
    schema: withWrites(hand),
    graphqlEndpoint: '/graphql',
    graphiql: false,
    landingPage: false,
    logging: false,
    maskedErrors: false,
    async context({ request }) {
      const { sub } = await verify(request.headers.get('authorization')!.slice('Bearer '.length));
      if (!(await hand.isMember(sub!))) throw new Error('Not a member');
      return contextOf();
    },
  });
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256' })
    .setSubject(user)
    .setExpirationTime('1h')
    .sign(privateKey);
  return { server: createServer((request, response) => void yoga(request, response)), token };
}

function withWrites(hand: HandWritten): GraphQLSchema {
  const schema = extendSchema(
    createSchema(),
    parse(`scalar ObservationInput
      type Mutation { ObservationCreate(res: ObservationInput!): Observation }
      extend schema { mutation: Mutation }`),
  );
  const mutation = schema.getMutationType();
  if (!isObjectType(mutation)) throw new Error('The schema has no mutation');
  mutation.getFields()['ObservationCreate']!.resolve = async (_source, { res }: { readonly res: object }) => {
    const meta = { versionId: '1', lastUpdated: new Date().toISOString() };
    const resource = { ...(res as WrittenObservation), id: randomUUID(), meta };
    await hand.write(resource);
    return resource;
  };
  return schema;
}
