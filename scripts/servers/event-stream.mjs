// Subscriptions over SSE with the clients of graphql-sse and Apollo: `node event-stream.mjs`.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createRepository, MemoryStore, systemCaller } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';
import { ApolloClient, ApolloLink, gql, InMemoryCache, Observable } from '@apollo/client';
import { print } from 'graphql';
import { createClient } from 'graphql-sse';

const store = new MemoryStore();
const caller = systemCaller('ward');
const repository = createRepository({ store, caller });
const handler = createFhirHandler({ store, baseUrl: 'http://localhost/fhir/R4', audit: false, signIn: () => caller });
const server = createServer(toNodeListener(handler));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const client = createClient({ url: `http://127.0.0.1:${server.address().port}/fhir/R4/$graphql`, retryAttempts: 0 });
const QUERY = 'subscription { TaskChanges(status: "requested") { event id } }';

const results = client.iterate({ query: QUERY });
const first = results.next();
const write = (id) => repository.update({ resourceType: 'Task', id, status: 'requested', intent: 'order' });
// It begins when the server has the request.
for (let isThere = false, number = 0; !isThere; number += 1) {
  await write(`t${number}`);
  isThere = await Promise.race([first.then(() => true), pause(50, false)]);
}
assert.equal((await first).value.data.TaskChanges.event, 'enter');
await results.return();

const link = new ApolloLink(
  ({ query, variables, operationName }) =>
    new Observable((sink) => client.subscribe({ query: print(query), variables, operationName }, sink)),
);
const apollo = new ApolloClient({ link, cache: new InMemoryCache() });
const seen = Promise.withResolvers();
const subscription = apollo.subscribe({ query: gql(QUERY) }).subscribe({ next: seen.resolve, error: seen.reject });
for (let isThere = false, number = 100; !isThere; number += 1) {
  await write(`t${number}`);
  isThere = await Promise.race([seen.promise.then(() => true), pause(50, false)]);
}
assert.equal((await seen.promise).data.TaskChanges.event, 'enter');
subscription.unsubscribe();
client.dispose();

// A server that stops ends its streams.
const last = client.iterate({ query: QUERY });
const end = last.next();
await pause(200);
await store.close();
assert.equal((await end).done, true);
server.close();
console.log('subscribed');
