import { DEFAULT_LIMITS, executeFhirGraphql, FhirError, printFhirSchema } from 'fhirgraph';
import fastify from 'fastify';
import { Kind } from 'graphql';
import mercurius from 'mercurius';
import { statusOf, thrownError } from './graphql-errors.mjs';

/**
 * Registers mercurius with the engine behind it. No hook of mercurius replaces its executor. So `preExecution` runs the
 * engine and leaves mercurius a document that needs no data; `onResolution` puts the engine's answer in the place of its.
 *
 * @param callerOf finds the caller of an `Authorization` header: your token verifier, then `signIn`
 * @param types the resource types of the schema, which mercurius holds every document against
 */
export async function registerFhirGraphql(app, { store, callerOf, types, path }) {
  app.decorateRequest('caller', null);
  await app.register(mercurius, {
    path,
    schema: printFhirSchema({ types }),
    // It parses before us and keeps what it has parsed, 1024 documents if not told otherwise.
    graphql: { parseOptions: { maxTokens: DEFAULT_LIMITS.tokens } },
    cache: 100,
    errorFormatter,
    context: (request, reply) => ({ fhir: { ...askedBy(request, reply), store, introspection: { types } } }),
    additionalRouteOptions: {
      // The first hook of a route that mercurius leaves to others: nothing is read of what strangers send.
      async preParsing(request) {
        request.caller = await callerOf(request.headers.authorization);
      },
      // The one that mercurius has makes texts of the numbers in the paths of errors.
      serializerCompiler: () => JSON.stringify,
    },
  });
  app.graphql.addHook('preExecution', execute);
  app.graphql.addHook('onResolution', answer);
}

/** Fastify with mercurius over a store, listening at the URL that it returns. */
export async function startMercurius({ port = 4000, path = '/graphql', ...options }) {
  const app = fastify({ bodyLimit: 5_000_000, forceCloseConnections: true });
  await registerFhirGraphql(app, { path, ...options });
  const address = await app.listen({ port, host: '127.0.0.1' });
  return { app, url: address + path };
}

function askedBy(request, reply) {
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  const readonly = request.method === 'GET';
  // Mercurius does not tell its hooks which operation of the document is meant.
  const operationName = (readonly ? request.query : request.body)?.operationName;
  return { caller: request.caller, signal: gone.signal, readonly, operationName };
}

async function execute(_schema, document, { fhir }, variables) {
  fhir.result = await executeFhirGraphql(document, { ...fhir, variables });
  return { document: fieldless(fhir.operationName) };
}

/** `query name { __typename }`: by another name mercurius would not find it. */
function fieldless(name) {
  const field = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } };
  const operation = {
    kind: Kind.OPERATION_DEFINITION,
    operation: 'query',
    ...(name == null ? {} : { name: { kind: Kind.NAME, value: name } }),
    selectionSet: { kind: Kind.SELECTION_SET, selections: [field] },
  };
  return { kind: Kind.DOCUMENT, definitions: [operation] };
}

async function answer(execution, { fhir, reply }) {
  const { data, errors = [], extensions } = fhir.result;
  // Errors that are there already come from other hooks.
  const all = [...(execution.errors ?? []), ...errors];
  Object.assign(execution, { data, errors: all.length === 0 ? undefined : all, extensions });
  reply.code(statusOf(fhir.result));
}

/** Errors of mercurius itself and of the way to the engine; those of the engine are ready as they are. */
function errorFormatter({ data, errors }, { reply }) {
  const told = errors.flatMap(({ originalError, message, locations }) => {
    const thrown = originalError ?? new FhirError('invalid', message);
    if (!isOfMercurius(thrown)) return [{ ...thrownError(thrown), locations }];
    const causes = thrown.errors ?? [thrown];
    return causes.map((cause) => ({
      ...thrownError(new FhirError('invalid', cause.message)),
      locations: cause.locations,
      http: { status: thrown.statusCode, headers: new Map() },
    }));
  });
  reply.headers(Object.fromEntries(told.flatMap(({ http }) => [...http.headers])));
  return {
    statusCode: data == null ? told[0].http.status : 200,
    response: { data, errors: told.map(({ message, locations, extensions }) => ({ message, locations, extensions })) },
  };
}

/** Whether an error is of those that mercurius and Fastify make for clients. */
function isOfMercurius({ code, statusCode }) {
  return /^(MER|FST)_ERR_/.test(code) && statusCode < 500;
}
