import type { Caller } from '../../access/caller.js';
import { limitsSince, type RequestTime } from '../../access/limits/call-limits.js';
import type { AuditHook } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { DEFAULT_LIMITS } from '../../graphql/limits.js';
import { openRepository, type OpenRepository } from '../../repository/open-repository.js';
import type { RepositoryContext } from '../../repository/repository.js';
import type { FhirHandlerConfig, RequestStatement, RouteGroup } from './handler-config.js';

/** The checked configuration. */
export interface HandlerSettings extends Omit<FhirHandlerConfig, 'audit' | 'routes' | 'maxBodyBytes'> {
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
