import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import type { Caller } from '../../access/caller.js';
import { readsAll } from '../../access/decide.js';
import { limitsSince, type RequestTime } from '../../access/limits/call-limits.js';
import type { AuditHook } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { DEFAULT_LIMITS } from '../../graphql/limits.js';
import { openRepository, type OpenRepository } from '../../repository/open-repository.js';
import type { RepositoryContext } from '../../repository/repository.js';
import type { Answer } from './answer.js';
import type { FhirHandlerConfig, RequestStatement, RouteGroup } from './handler-config.js';

/** The checked configuration. */
export interface HandlerSettings extends Omit<FhirHandlerConfig, 'baseUrl' | 'audit' | 'routes' | 'maxBodyBytes'> {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly audit: AuditHook | undefined;
  readonly routes: ReadonlySet<RouteGroup>;
  readonly maxBodyBytes: number;
  /** When the handler was created. */
  readonly started: Date;
}

/** One request as a route handles it. */
export interface Exchange {
  readonly settings: HandlerSettings;
  readonly request: Request;
  readonly url: URL;
  /** The variable segments of the path, decoded and untrusted. */
  readonly path: PathValues;
  readonly signal: AbortSignal;
  /** Undefined for requests that are answered without signing in. */
  readonly caller?: Caller | undefined;
  /** What the host states about the request, for its audit records. */
  readonly stated: RequestStatement;
  readonly time: RequestTime;
  /** Reports an error to the host. */
  readonly report: (error: unknown) => void;
}

/** The exchange of a signed-in caller. */
export interface CallerExchange extends Exchange {
  readonly caller: Caller;
}

export type PathValues = { readonly [Name in PathName]: string };
export type PathName = 'type' | 'id' | 'version' | 'project' | 'membership';

/** The context of repositories and of operations on projects. */
export function contextOf({
  settings,
  caller,
  signal,
  stated,
  time,
}: CallerExchange): RepositoryContext & FhirHandlerContext {
  const {
    store,
    limits,
    audit,
    requireAudit,
    baseUrl,
    extendedMeta,
    profiles,
    resolveIdentifiers,
    mailer,
    message,
    acceptance,
    clock,
  } = settings;
  return {
    ...stated,
    store,
    caller,
    signal,
    // The body may be read later than this.
    limits: limits && limitsSince(limits, time),
    audit,
    requireAudit,
    baseUrl,
    extendedMeta,
    profiles,
    resolveIdentifiers,
    mailer,
    message,
    acceptance,
    clock,
  };
}

type FhirHandlerContext = Pick<FhirHandlerConfig, 'mailer' | 'message' | 'acceptance' | 'clock'>;

/** @throws FhirError `invalid` - the query parameter is given twice, so one value would be ignored */
export function parameterOf({ url }: Pick<Exchange, 'url'>, name: string): string | undefined {
  const [value, ...others] = url.searchParams.getAll(name);
  if (others.length > 0) throw new FhirError('invalid', `"${name}" may be given once, not several times`);
  return value;
}

/** The context of FHIR's interactions: they end by the default of GraphQL's `limits.timeout` if the host sets none. */
export function boundedContextOf(exchange: CallerExchange): ReturnType<typeof contextOf> {
  const { settings, time } = exchange;
  const timeout = settings.limits?.timeout ?? DEFAULT_LIMITS.timeout;
  return { ...contextOf(exchange), limits: limitsSince({ ...settings.limits, timeout }, time) };
}

export function repositoryFor(exchange: CallerExchange): OpenRepository {
  return openRepository(boundedContextOf(exchange));
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One route as data. */
export interface Route {
  readonly group: RouteGroup;
  readonly method: Method;
  /** Below the base of FHIR, below `/admin`, or where `/admin` itself is. */
  readonly root: 'fhir' | 'admin' | 'beside';
  /** `:type/:id/_history`; names after colons are variable. */
  readonly path: string;
  /**
   * The query parameters of the route, in addition to `_format` and `_pretty`; any other is 400. A parameter that is ignored
   * is a promise without behaviour: `dryRun=true` of a removal would remove.
   *
   * - `checked`: the route reads all of them, and refuses unknown ones itself, as searches do
   * - `any`: a read; unknown parameters change nothing and are ignored
   */
  readonly parameters: readonly string[] | 'checked' | 'any';
  /** The body of errors: GraphQL's `errors` instead of an OperationOutcome, where the client accepts only that. */
  readonly isGraphql?: true;
  /** The route decides what `Accept` and `_format` mean. Default: JSON, or 406. */
  readonly takesAnyFormat?: true;
  readonly answer: (exchange: CallerExchange) => Promise<Answer> | Answer;
  /** Answers requests without a caller too. Default: they are 401. */
  readonly answerPublic?: (exchange: Exchange) => Promise<Answer> | Answer;
  /** `answerPublic` answers all requests, without signing in. */
  readonly isAnonymous?: true;
}

/** The URL of what is next to a base that ends in `/fhir/R4`, otherwise below the base. */
export function urlBeside(baseUrl: string): string {
  return baseUrl.replace(/\/fhir\/R4$/, '');
}

/** The URL of an administrative route. @param segments not encoded yet */
export function adminUrl(baseUrl: string, ...segments: readonly string[]): string {
  return [urlBeside(baseUrl), 'admin', ...segments.map(encodeURIComponent)].join('/');
}

/**
 * The URL under which the caller of the exchange reads a member. FHIR's own URL leads only into the caller's project,
 * and only those who read every membership of it.
 */
export function memberUrl({ settings, caller }: CallerExchange, project: string, id: string): string {
  const { baseUrl, routes } = settings;
  const isOwn = project === caller.project && readsAll(caller, 'ProjectMembership');
  return (isOwn && routes.has('read')) || !routes.has('admin')
    ? `${baseUrl}/ProjectMembership/${id}`
    : adminUrl(baseUrl, 'projects', project, 'members', id);
}

/**
 * A page of administrative resources whose URLs can be followed as they are.
 *
 * @param address the URL of the search, without parameters
 * @param urlOf the URL of a match; undefined: matches have none
 */
export function withAddresses(found: Bundle, address: string, urlOf?: (id: string) => string): Bundle {
  const link = found.link?.map(({ relation, url }) => ({ relation, url: `${address}${url.replace(/^[^?]*/, '')}` }));
  const entry = found.entry?.map(({ fullUrl: _, ...one }): BundleEntry =>
    urlOf !== undefined && one.search?.mode === 'match' ? { fullUrl: urlOf(one.resource!.id!), ...one } : one,
  );
  return { ...found, ...(link && { link }), ...(entry && { entry }) };
}

/**
 * Runs a function of the host that verifies a token.
 *
 * @throws FhirError `unauthenticated` for errors of libraries that verify tokens; other errors as they are
 */
export async function withTokenErrors<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (error) {
    // A malformed name in a token is a fault of the token, not of the request.
    const isMalformed = error instanceof FhirError && error.code === 'invalid';
    if (!isMalformed && !isTokenError(error)) throw error;
    throw new FhirError('unauthenticated', 'The token is not valid', { cause: error });
  }
}

/** An error of jose, jsonwebtoken or fast-jwt about a token, and not about the keys to verify it with. */
function isTokenError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  if (TOKEN_ERRORS.has(error.name)) return true;
  return typeof code === 'string' && /^(ERR_(JWT|JWS|JWE|JOSE)_|ERR_JWKS_NO_MATCHING_KEY|FAST_JWT_)/.test(code);
}

const TOKEN_ERRORS: ReadonlySet<string> = new Set(['JsonWebTokenError', 'TokenExpiredError', 'NotBeforeError']);
