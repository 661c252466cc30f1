import type { AuditHook, AuditOptions } from '../../audit/audit.js';
import type { Caller } from '../../access/caller.js';
import type { FhirGraphqlConfig, FhirGraphqlService } from '../../graphql/context.js';
import type { ResourceStore } from '../../store/store.js';
import type { VerifiedIdentity } from '../../projects/accept/accept-invitation.js';
import type { MailContext } from '../../projects/mail/invitation.js';

/** The configuration of a handler, shared by all requests. */
export interface FhirHandlerConfig
  extends
    Pick<
      FhirGraphqlConfig,
      | 'store'
      | 'dialect'
      | 'limits'
      | 'documents'
      | 'introspection'
      | 'profiles'
      | 'resolveIdentifiers'
      | 'resolveReference'
      | 'fields'
      | 'types'
      | 'enums'
      | 'terminology'
    >,
    MailContext {
  /**
   * The service that answers GraphQL, made by `createFhirGraphql` over the same store. Its configuration replaces
   * `dialect`, `limits`, `documents`, `introspection`, `profiles`, `resolveIdentifiers`, `resolveReference`, `fields`,
   * `types`, `enums` and `terminology`, which you must leave out then. `audit` and `onError` of the handler apply.
   */
  readonly graphql?: FhirGraphqlService | undefined;
  /**
   * The URL of the FHIR routes as clients see it: `https://clinic.example/fhir/R4`. Requests are matched against its
   * path; their host and port are ignored. Administrative routes are at `/admin` next to a path that ends in
   * `/fhir/R4`, otherwise below the base. It must be that of the store, if the store has one; otherwise references below
   * it lead to another server. Default: that of the store.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Verifies the token of a request and signs its owner in; undefined for requests without a token. A `FhirError` keeps
   * its status. Errors of jose, jsonwebtoken and fast-jwt about a token are 401. All other errors are 500 and go to
   * `onError`.
   *
   * The second argument has the store to sign in over: the handler's store with its `terminology`.
   */
  readonly signIn: (request: Request, context: SignInContext) => Caller | undefined | Promise<Caller | undefined>;
  /**
   * Verifies the token of a person who may not be a member yet, and returns the verified identity. `POST
   * /admin/invitations/accept` needs it and is not served without it. Errors are handled as for `signIn`.
   */
  readonly identify?:
    ((request: Request) => VerifiedIdentity | undefined | Promise<VerifiedIdentity | undefined>) | undefined;
  /** Receives a record of every interaction; false for no audit trail. It has no default, so that nobody forgets it. */
  readonly audit: AuditHook | false;
  /** Fail requests if the hook fails to store their audit record; see `AuditOptions`. Default false. */
  readonly requireAudit?: boolean | undefined;
  /**
   * States the purpose and the id of a request for its audit records, from headers that the host trusts: `(request) =>
   * ({ purpose: request.headers.get('x-purpose-of-use') ?? undefined })`. Without it, the handler reads neither from
   * requests. A value that it leaves out is the caller's, see `signIn`. Its errors are 500 and go to `onError`.
   */
  readonly describeRequest?: ((request: Request) => RequestStatement | Promise<RequestStatement>) | undefined;
  /**
   * Receives the cause of every failure that is not the client's: errors `internal`, `corrupt` and `unavailable`, and
   * failed invitation e-mails. Default: a process warning without the cause.
   */
  readonly onError?: ErrorHandler | undefined;
  /** Maximum size of a request body, in bytes; a larger body is 413. Default 16 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** The routes that are served. Default all. */
  readonly routes?: readonly RouteGroup[] | undefined;
  /**
   * A draft of GraphQL over HTTP to follow, named by its date. `2026-08-06`: 422 for invalid documents, 294 for partial
   * results, 406 for `Accept` without a known type. Default: the statuses that the audits of graphql-http require and
   * today's clients expect.
   */
  readonly graphqlOverHttp?: GraphqlOverHttpDraft | undefined;
  /**
   * What `[base]/.well-known/smart-configuration` answers: the endpoints of your authorization server, as SMART App Launch
   * names them. Default none: the route is 404. See https://hl7.org/fhir/smart-app-launch/conformance.html.
   */
  readonly smartConfiguration?: SmartConfiguration | undefined;
  /** Serve `/healthcheck` next to `/admin`, for load balancers: 200 while the store answers, 503 otherwise. Default false. */
  readonly healthcheck?: boolean | undefined;
  /** Resources carry Medplum's `meta.project` and `meta.author`, which R4 does not define. Default false. */
  readonly extendedMeta?: boolean | undefined;
}

/** The answer for SMART clients; other members are sent as they are. */
export interface SmartConfiguration {
  readonly token_endpoint: string;
  readonly authorization_endpoint?: string | undefined;
  readonly capabilities: readonly string[];
  readonly [name: string]: unknown;
}

/** The purpose and id of a request, for its audit records. */
export type RequestStatement = Pick<AuditOptions, 'purpose' | 'requestId'>;

/** The second argument of `signIn` of a handler. */
export interface SignInContext {
  /** The store of the handler with its `terminology`, needed for policies with `:in` and the like. */
  readonly store: ResourceStore;
}

/** Receives the errors that answers do not explain. */
export type ErrorHandler = (error: unknown, request: Request) => void;

/** A dated draft of https://graphql.github.io/graphql-over-http/draft/. */
export type GraphqlOverHttpDraft = '2026-08-06';

/**
 * A group of routes:
 *
 * | group | routes |
 * |---|---|
 * | `metadata` | `metadata`, `.well-known/smart-configuration`, `/healthcheck` |
 * | `auth` | `/auth/me` |
 * | `graphql` | `$graphql`, `[type]/[id]/$graphql` |
 * | `read` | read, vread |
 * | `search` | search by GET and `_search`, of a type, in a compartment, and of several types |
 * | `history` | history of an instance, history of a type |
 * | `write` | create, update, patch, delete, conditional ones |
 * | `bundle` | transaction and batch |
 * | `operations` | `$everything` of Patient and Encounter, `$status` of Subscription, `$validate`, `$expand`, `$lookup`, `$validate-code`, `$subsumes` |
 * | `admin` | invite, resend and accept invitations, members, clients, Bots, projects with export and deletion, the audit log, removal for good |
 */
export type RouteGroup =
  'metadata' | 'auth' | 'graphql' | 'read' | 'search' | 'history' | 'write' | 'bundle' | 'operations' | 'admin';

export const ROUTE_GROUPS: readonly RouteGroup[] = [
  'metadata',
  'auth',
  'graphql',
  'read',
  'search',
  'history',
  'write',
  'bundle',
  'operations',
  'admin',
];

/** Options of a single request. */
export interface FhirHandlerOptions {
  /** Ends the work early, like the request's own signal. */
  readonly signal?: AbortSignal | undefined;
  /** The caller, if the host has already signed it in; `signIn` is not called then. */
  readonly caller?: Caller | undefined;
  /** Ignored. It makes a handler assignable to a route handler of Next.js, which receives it. */
  readonly params?: unknown;
}

/** Answers requests. It never rejects. */
export type FhirHandler = (request: Request, options?: FhirHandlerOptions) => Promise<Response>;
