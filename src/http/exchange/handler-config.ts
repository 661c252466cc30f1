import type { AuditHook, AuditOptions } from '../../audit/audit.js';
import type { Caller } from '../../access/caller.js';
import type { FhirGraphqlConfig, FhirGraphqlService } from '../../graphql/context.js';
import type { ResourceStore } from '../../store/store.js';
import type { VerifiedIdentity } from '../../projects/accept/accept-invitation.js';
import type { MailContext } from '../../projects/mail/invitation.js';

/** The configuration of a handler: what is the same for all requests. */
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
   * The service that answers GraphQL, made by `createFhirGraphql` over the same store. Its configuration takes the place
   * of `dialect`, `limits`, `documents`, `introspection`, `profiles`, `resolveIdentifiers`, `resolveReference`, `fields`,
   * `types`, `enums` and `terminology`, which are not given then. `audit`, `onError` and `baseUrl` are those of the handler.
   */
  readonly graphql?: FhirGraphqlService | undefined;
  /**
   * The URL of the FHIR routes as clients see it: `https://clinic.example/fhir/R4`. Requests are matched against its
   * path; their host and port are ignored. Administrative routes are at `/admin` beside a path that ends in `/fhir/R4`,
   * else below the base.
   */
  readonly baseUrl: string;
  /**
   * Verifies the token of a request and signs its owner in; undefined for requests without a token. Its errors keep
   * their status where they are `FhirError`s. Those of jose, jsonwebtoken and fast-jwt about a token are 401, all others
   * are 500 and go to `onError`.
   *
   * The second argument has the store to sign in over: that of the handler, with its `terminology`.
   */
  readonly signIn: (request: Request, context: SignInContext) => Caller | undefined | Promise<Caller | undefined>;
  /**
   * Verifies the token of a request by somebody who may not be a member yet, and names its owner: for `POST
   * /admin/invitations/accept`, which is not served without it. Errors count as those of `signIn`.
   */
  readonly identify?:
    ((request: Request) => VerifiedIdentity | undefined | Promise<VerifiedIdentity | undefined>) | undefined;
  /** Receives a record of every interaction; false for no audit trail. It has no default, so nobody forgets it. */
  readonly audit: AuditHook | false;
  /** Fail requests whose audit record the hook did not take; see `AuditOptions`. Default false. */
  readonly requireAudit?: boolean | undefined;
  /**
   * States the purpose and the id of a request for its audit records, from headers that the host trusts:
   * `(request) => ({ purpose: request.headers.get('x-purpose-of-use') ?? undefined })`. Nothing is read from requests
   * without it; what it leaves out is that of the caller, see `signIn`. What it throws is 500 and goes to `onError`.
   */
  readonly describeRequest?: ((request: Request) => RequestStatement | Promise<RequestStatement>) | undefined;
  /**
   * Receives the cause of every failure that is not the client's: errors `internal`, `corrupt` and `unavailable`, and
   * failed invitation e-mails. Default: a process warning without the cause.
   */
  readonly onError?: ErrorHandler | undefined;
  /** The longest body of a request, in bytes; longer ones are 413. Default 16 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** The routes that are served. Default all. */
  readonly routes?: readonly RouteGroup[] | undefined;
  /**
   * A draft of GraphQL over HTTP to follow, named by its date. `2026-08-06`: 422 for documents that are not valid, 294
   * for partial results, 406 for `Accept` without a known type. Default: the statuses that the audits of graphql-http
   * ask for, which clients of today expect.
   */
  readonly graphqlOverHttp?: GraphqlOverHttpDraft | undefined;
  /** Resources carry Medplum's `meta.project` and `meta.author`, which R4 does not know. Default false. */
  readonly extendedMeta?: boolean | undefined;
}

/** What a host states about a request, for its audit records. */
export type RequestStatement = Pick<AuditOptions, 'purpose' | 'requestId'>;

/** What `signIn` of a handler gets in addition to the request. */
export interface SignInContext {
  /** The store of the handler with its `terminology`, which policies with `:in` and the like need. */
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
 * | `metadata` | `metadata` |
 * | `graphql` | `$graphql`, `[type]/[id]/$graphql` |
 * | `read` | read, vread |
 * | `search` | search by GET and `_search` |
 * | `history` | history of an instance, history of a type |
 * | `write` | create, update, patch, delete, conditional ones |
 * | `bundle` | transaction and batch |
 * | `operations` | `Patient/[id]/$everything`, `$validate` |
 * | `admin` | invite, resend and accept invitations, members, projects with export and deletion, removal for good |
 */
export type RouteGroup =
  'metadata' | 'graphql' | 'read' | 'search' | 'history' | 'write' | 'bundle' | 'operations' | 'admin';

export const ROUTE_GROUPS: readonly RouteGroup[] = [
  'metadata',
  'graphql',
  'read',
  'search',
  'history',
  'write',
  'bundle',
  'operations',
  'admin',
];

/** What a single request may bring. */
export interface FhirHandlerOptions {
  /** Ends the work early, as the request's own signal does. */
  readonly signal?: AbortSignal | undefined;
  /** The caller, if the host knows it already; `signIn` is not called then. */
  readonly caller?: Caller | undefined;
  /** Ignored. Next.js gives it to route handlers; with it, a handler is one as it is. */
  readonly params?: unknown;
}

/** Answers requests. It never rejects. */
export type FhirHandler = (request: Request, options?: FhirHandlerOptions) => Promise<Response>;
