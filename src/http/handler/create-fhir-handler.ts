import { type Caller, isCaller } from '../../access/caller.js';
import { FhirError, maskError, reportError } from '../../fhir/error.js';
import { didYouMean, isSameName, orList, quote } from '../../fhir/messages.js';
import { eitherSignal, warn } from '../../platform/runtime.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import { assertReadableQuery } from '../../search/parse/search-pairs.js';
import { type Answer, fromHttpResponse, fromWireHandler, toWireAnswer } from '../exchange/answer.js';
import { type Exchange, type HandlerSettings, type Route, withTokenErrors } from '../exchange/exchange.js';
import type {
  FhirHandler,
  FhirHandlerConfig,
  FhirHandlerOptions,
  RequestStatement,
} from '../exchange/handler-config.js';
import { HttpRequestError, preferenceOf } from '../http-types.js';
import { DEFAULT_FORMAT, type Format, negotiateFormat } from '../negotiate.js';
import { toHttpResponse } from '../to-http-response.js';
import { type MatchedPath, rootsOf, ROUTES, RouteTable } from './routes.js';
import { checkSettings } from './settings.js';

/**
 * Creates the handler of a FHIR service from a store and the host's token verification: GraphQL, FHIR's REST interface,
 * invitations and members. It takes a web `Request` and returns a `Response`, so you can mount it directly in Hono,
 * Next.js, Bun and Deno. `toNodeListener` turns it into a listener for `node:http`, Express and Fastify.
 *
 * It opens no socket and verifies no token. All access goes through the caller's access rules; an invisible resource
 * does not exist for the caller. Errors are OperationOutcomes with their status, on GraphQL routes also GraphQL errors.
 *
 * @throws TypeError - there is no store
 * @throws FhirError `invalid` - an option is unknown, is missing or has a wrong value
 *
 * @example
 * const handler = createFhirHandler({
 *   store,
 *   baseUrl: 'https://clinic.example/fhir/R4',
 *   audit: (record) => trail.write(record),
 *   async signIn(request) {
 *     const { project, sub, iat } = await verifyToken(request.headers.get('authorization'));
 *     return signIn(store, { project, user: sub }, { issuedAt: new Date(iat * 1000) });
 *   },
 * });
 * createServer(toNodeListener(handler)).listen(8080);
 */
export function createFhirHandler(config: FhirHandlerConfig): FhirHandler {
  const settings = checkSettings(config);
  const routes = ROUTES.filter(({ group }) => settings.routes.has(group));
  const table = new RouteTable(routes, rootsOf(settings.baseUrl));
  return fromWireHandler(async (request, options = {}) => {
    const report = reporterOf(settings, request);
    const isHead = request.method === 'HEAD';
    const sent: SentRequest = { request, options, report, format: DEFAULT_FORMAT, isGraphql: false };
    try {
      return await toWireAnswer(await answerRequest(sent, settings, table), sent.format, isHead);
    } catch (error) {
      const known = maskError(error);
      report(known);
      const headers = known.status === 401 && request.headers.has('authorization') ? INVALID_TOKEN : {};
      const answer = toHttpResponse(known, sent.isGraphql ? { request, headers } : { headers });
      return await toWireAnswer(fromHttpResponse(answer), sent.format, isHead);
    }
  });
}

/** See https://www.rfc-editor.org/rfc/rfc6750#section-3.1. */
const INVALID_TOKEN = { 'www-authenticate': 'Bearer error="invalid_token"' };

/** A request, with the facts about its answer so far. */
interface SentRequest {
  readonly request: Request;
  readonly options: FhirHandlerOptions;
  readonly report: (error: unknown) => void;
  format: Format;
  isGraphql: boolean;
}

async function answerRequest(sent: SentRequest, settings: HandlerSettings, table: RouteTable): Promise<Answer> {
  const { request, options, report } = sent;
  const url = new URL(request.url);
  const matched = table.match(url.pathname);
  assertKnown(matched, settings);
  if (request.method === 'OPTIONS') return { status: 204, headers: { allow: allowed(matched) } };
  const route = routeFor(request, matched);
  sent.isGraphql = route.isGraphql === true;
  // Reading 100,000 parameters takes a long turn for every part of the handler that does it.
  assertReadableQuery(url.search);
  assertKnownParameters(route, url);
  assertStrict(request);
  if (!sent.isGraphql) {
    sent.format = negotiateFormat(url.searchParams, request.headers.get('accept'), route.takesAnyFormat);
  }
  const signal = eitherSignal(request.signal, options.signal);
  const stated = await statementOf(settings, request);
  const exchange: Exchange = { settings, request, url, path: matched.path, signal, stated, time: {}, report };
  const caller = route.isAnonymous === true ? undefined : await callerOf(exchange, options, route);
  if (caller !== undefined) return route.answer({ ...exchange, caller });
  if (route.answerPublic !== undefined) return route.answerPublic(exchange);
  throw new FhirError('unauthenticated', 'A bearer token is needed');
}

async function statementOf({ describeRequest }: HandlerSettings, request: Request): Promise<RequestStatement> {
  const { purpose, requestId } = (await describeRequest?.(request)) ?? {};
  return { purpose, requestId };
}

async function callerOf(
  exchange: Exchange,
  { caller }: FhirHandlerOptions,
  { answerPublic }: Route,
): ReturnType<typeof authenticate> {
  try {
    return await authenticate(exchange, caller);
  } catch (error) {
    const isRefused = error instanceof FhirError && (error.status === 401 || error.status === 403);
    if (isRefused && answerPublic !== undefined) return undefined;
    throw error;
  }
}

/** @throws FhirError `not-found` - no route has the path, or the type is unknown */
function assertKnown({ routes, path, first }: MatchedPath, { store }: HandlerSettings): void {
  const { model } = store;
  if (routes.length > 0 && (path.type === '' || model.isResourceType(path.type))) return;
  // An unknown first segment can be anything; if it is a type in another case, the message suggests the type.
  const types = model.resourceTypes.filter((type) => routes.length > 0 || isSameName(type, first));
  const hint = model.isResourceType(first) ? '' : didYouMean(first, types);
  const text = `There is no such ${routes.length === 0 ? 'route' : 'resource type'}`;
  throw new FhirError('not-found', hint === '' ? text : `${text}.${hint}`);
}

/**
 * Unknown parameters are always refused, as by `handling=strict`: a search that ignored one would find more than was
 * asked. See https://hl7.org/fhir/R4/search.html#errors.
 *
 * @throws FhirError `unsupported` - `Prefer: handling=lenient`
 */
function assertStrict(request: Request): void {
  const handling = preferenceOf(request, 'handling')?.toLowerCase();
  if (handling === undefined || handling === 'strict') return;
  throw new FhirError('unsupported', 'Of "Prefer: handling", only strict is supported: unknown parameters are refused');
}

/** @throws FhirError `invalid` - a query parameter that the route does not take, see {@link Route.parameters} */
function assertKnownParameters({ parameters }: Route, { searchParams }: URL): void {
  if (typeof parameters === 'string') return;
  const unknown = [...searchParams.keys()].find((name) => !parameters.includes(name) && !FORMAT_PARAMETERS.has(name));
  if (unknown === undefined) return;
  const known = parameters.length === 0 ? 'no query parameters' : orList(parameters.map((name) => `"${name}"`));
  throw new FhirError('invalid', `Unknown parameter ${quote(unknown)}; this request takes ${known}`);
}

/** @throws HttpRequestError 405 */
function routeFor({ method }: Request, matched: MatchedPath): Route {
  const asked = method === 'HEAD' ? 'GET' : method;
  const route = matched.routes.find((one) => one.method === asked);
  if (route !== undefined) return route;
  const allow = allowed(matched);
  throw new HttpRequestError(405, `This URL takes ${allow}`, { allow });
}

function allowed({ routes }: MatchedPath): string {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set([...methods, 'OPTIONS'])].join(', ');
}

/**
 * The caller of a request.
 *
 * @param given a caller that the host has already signed in
 * @returns undefined if the request has no token
 * @throws FhirError as `signIn` throws it; `unauthenticated` for errors of libraries that verify tokens
 */
async function authenticate(exchange: Exchange, given: Caller | undefined): Promise<Caller | undefined> {
  if (given !== undefined) return genuine(given);
  const { signIn, store } = exchange.settings;
  return withTokenErrors(async () => genuine(await signIn(exchange.request, { store })));
}

function genuine(caller: unknown): Caller | undefined {
  if (caller === undefined || caller === null || isCaller(caller)) return caller ?? undefined;
  throw new TypeError('signIn must give a caller of this library, from its function signIn, or undefined');
}

/** @returns a function that reports errors to the host, except errors of the client */
function reporterOf(
  { onError = warnOfError }: Pick<FhirHandlerConfig, 'onError'>,
  request: Request,
): (error: unknown) => void {
  return (error) => {
    const failed = (): void => warn('onError of createFhirHandler threw an error', WARNING);
    reportError(error, (reported) => onError(reported, request), failed);
  };
}

/** Without the cause, which may hold clinical data. */
function warnOfError(error: unknown): void {
  const code = error instanceof FhirError ? error.code : 'internal';
  warn(`A request failed (${code}); set onError of createFhirHandler to receive the cause`, WARNING);
}

const WARNING = 'FHIRGRAPH_HANDLER';

/**
 * Turns the handler into a function with the signature of `fetch` that needs no socket: for tests, and for clients such
 * as MedplumClient in the same process.
 *
 * @param options a caller for all requests; `signIn` is then not called
 *
 * @example
 * const medplum = new MedplumClient({ baseUrl: 'https://clinic.example/', fetch: toFetch(handler) });
 */
export function toFetch(handler: FhirHandler, options: FhirHandlerOptions = {}): typeof fetch {
  return async (input, init) => handler(new Request(input, init), options);
}
