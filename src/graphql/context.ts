import { FhirError } from '../fhir/error.js';
import { parseBaseUrl } from '../fhir/reference.js';
import { oncePer } from '../platform/collections.js';
import type { AuditHook, AuditOptions } from '../audit/audit.js';
import type { Caller } from '../access/caller.js';
import type { ResourceStore } from '../store/store.js';
import type { Terminology } from '../store/terminology.js';
import type { Dialect } from './dialect.js';
import type { PersistedDocuments, DocumentText, PersistedDocument } from './documents/documents.js';
import type { ReferenceResolver } from './execute/run.js';
import type { IntrospectionOption } from './introspect/introspect.js';
import type { LimitOptions } from './limits.js';
import type { HostFields } from './schema/host/host-fields.js';
import { withTerminology } from '../store/store-view.js';
import { belowTelemetry } from '../telemetry/with-telemetry.js';
import type { DocumentNode } from './graphql-js.js';

/** The configuration of a service, shared by all its requests. */
export interface FhirGraphqlConfig {
  readonly store: ResourceStore;
  /** How absent values, repeated keys and failures appear in the answer. Default `standard`. */
  readonly dialect?: Dialect | undefined;
  /**
   * The base URL of the service: references below it are local. It must be that of the store, which recognises them.
   * Default: that of the store.
   */
  readonly baseUrl?: string | undefined;
  /** Follow references that have an identifier and a type instead of `reference`. Default false. */
  readonly resolveIdentifiers?: boolean | undefined;
  /** Follows references that lead outside this service, and URNs; without it they are errors. */
  readonly resolveReference?: ReferenceResolver | undefined;
  /**
   * The documents known by id. A closed list (`createAllowList`) executes only its documents; a learning list
   * (`createAutomaticDocuments`) serves automatic persisted queries. If omitted, requests must contain their text.
   */
  readonly documents?: PersistedDocuments | undefined;
  readonly limits?: LimitOptions | undefined;
  /**
   * Enables `__schema` and `__type`. `false` refuses them; `{ types }` limits them to some resource types, for tools
   * that cannot handle all. Default true.
   */
  readonly introspection?: IntrospectionOption | undefined;
  /**
   * Profiles that written resources must conform to, in addition to those that the project requires: `true` for those
   * in their `meta.profile`, or a list of canonical URLs, each for the resources of its type. Writes that do not
   * conform are `unprocessable`. Default: those of the project only.
   */
  readonly profiles?: true | readonly string[] | undefined;
  /**
   * Fields of the host on FHIR types, `Query` and `Mutation`, resolved inside the plan: `{ Patient: { riskScore: {
   * type: 'Float', needs: ['birthDate'], resolve } } }`. Pass the same object each time: the compiled fields are cached
   * with it.
   */
  readonly fields?: HostFields | undefined;
  /** The types of these fields in addition to FHIR's, in SDL: object types, enums, inputs, scalars. */
  readonly types?: string | undefined;
  /**
   * Codes of required bindings are values of GraphQL enums: in answers, element arguments, inputs and variables of an
   * enum's type, in introspection and `printSchema`. `entered-in-error` is `entered_in_error`; inputs take both. Search
   * arguments, `_filter`, FHIRPath and JSON take codes. A stored code that the enum does not have is an error
   * `unprocessable` of its field. Default false.
   */
  readonly enums?: boolean | undefined;
  /**
   * Resolves value sets and hierarchies of codes in searches, as `withTerminology(store, terminology)` does. Policies
   * are expanded at sign-in, so callers whose policies use them must sign in over the wrapped store. Default: the
   * store's own terminology.
   */
  readonly terminology?: Terminology | undefined;
  /** Report the estimated and the actual cost of the request in `extensions.cost`. Default false. */
  readonly reportCost?: boolean | undefined;
  /** Receives a record when the query ends: the versions that the answer shows, never content. */
  readonly audit?: AuditHook | undefined;
  /** Answer only with the error `unavailable` if the audit hook fails. Default false. */
  readonly requireAudit?: boolean | undefined;
  /**
   * Receives the cause of every error `internal`, which the answer hides, and the errors `corrupt` and `unavailable`.
   * Errors of the hook are ignored.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The request: the caller, the operation and its variables. */
export interface FhirGraphqlRequest extends Pick<AuditOptions, 'purpose' | 'requestId'> {
  /** From `signIn`, or `systemCaller(project)` for trusted code. Required. */
  readonly caller: Caller;
  readonly variables?: { readonly [name: string]: unknown } | null | undefined;
  /** The operation to execute, if the document has several. */
  readonly operationName?: string | null | undefined;
  /** `Patient/123`: the query is executed on this instance, and its fields are the root fields. */
  readonly focus?: string | undefined;
  /** Refuse mutations with `forbidden`: for requests by GET, which must not write. Default false. */
  readonly readonly?: boolean | undefined;
  /** Ends the work early; the answer is then one error with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * @throws TypeError `what` was called without a store
 * @throws FhirError `invalid` - the base URL is not that of the store
 */
export function assertStore(context: Partial<FhirGraphqlConfig> | undefined, what: string): void {
  const { store, baseUrl } = context ?? {};
  if (typeof store?.search !== 'function') throw new TypeError(`${what} needs a store`);
  // Answers have no links, so that a base URL has no other meaning.
  if (baseUrl === undefined || parseBaseUrl(baseUrl) === store.model.baseUrl) return;
  throw new FhirError('invalid', 'baseUrl must be the one that the store was opened with: only the store uses it');
}

/** Checked configurations of services, by the service. */
const CONFIGS = new WeakMap<object, FhirGraphqlConfig>();

/** Remembers the configuration of a service, for contexts that name the service instead of a configuration. */
export function keepConfig<Service extends object>(service: Service, config: FhirGraphqlConfig): Service {
  CONFIGS.set(service, config);
  return service;
}

/** The checked configuration of a service; undefined for any other value. */
export function configOf(service: unknown): FhirGraphqlConfig | undefined {
  return typeof service === 'object' && service !== null ? CONFIGS.get(service) : undefined;
}

/** A service from `createFhirGraphql`. */
export interface FhirGraphqlService {
  printSchema(): string;
}

/** A request to a service. */
export interface ServiceRequest extends FhirGraphqlRequest {
  /** The service; its configuration is that of the request. */
  readonly graphql: FhirGraphqlService;
}

/**
 * The context with the configuration of its service, if it names one.
 *
 * @throws TypeError - `graphql` is not a service
 */
export function resolveContext(context: FhirGraphqlContext | ServiceRequest): FhirGraphqlContext {
  const service = (context as Partial<ServiceRequest> | undefined)?.graphql;
  if (service === undefined) return withOwnTerminology(context as FhirGraphqlContext);
  const config = configOf(service);
  if (config === undefined) throw new TypeError('graphql must be a service that createFhirGraphql made');
  return requestContext(config, context);
}

function withOwnTerminology(context: FhirGraphqlContext): FhirGraphqlContext {
  const { store, terminology } = context ?? {};
  // Execution checks afterwards that there is a store.
  if (terminology === undefined || store === undefined) return context;
  const view = serviceStore(store, terminology);
  return view === store ? context : { ...context, store: view };
}

/** Copies the known members only: the request may come from a client and contain anything else. */
export function requestContext(config: FhirGraphqlConfig, request: object): FhirGraphqlContext {
  const { caller, variables, operationName, focus, readonly, signal, purpose, requestId } =
    request as FhirGraphqlRequest;
  return { ...config, caller, variables, operationName, focus, readonly, signal, purpose, requestId };
}

/** The service configuration and the request in one object. */
export interface FhirGraphqlContext extends FhirGraphqlConfig, FhirGraphqlRequest {}

/**
 * The store of a service with the terminology of its configuration: the same view for the same store each time, so that
 * a handler can compare its store with the service's.
 */
export function serviceStore(store: ResourceStore, terminology: Terminology | undefined): ResourceStore {
  return terminology === undefined || store.terminology === terminology ? store : viewsOf(store)(terminology);
}

const viewsOf = oncePer((store: ResourceStore) =>
  oncePer((terminology: Terminology) => belowTelemetry(store, (below) => withTerminology(below, terminology))),
);

/** A parsed document that carries the types of its result and variables, as created by code generators. */
export type TypedDocument<Data, Variables> = DocumentNode & {
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
};

/** A query: text, a parsed or typed document, or the id of a persisted one. */
export type QueryDocument<Data, Variables> = DocumentText | TypedDocument<Data, Variables> | PersistedDocument;

/**
 * The context of a query whose variables have a type: `variables` must have this type, and is required if the document
 * requires a variable. Untyped documents and text accept any object.
 */
export type TypedContext<Variables> = WithVariables<FhirGraphqlContext, Variables>;

/** A request with variables of a type, as {@link TypedContext}. */
export type TypedRequest<Variables> = WithVariables<FhirGraphqlRequest, Variables>;

/** A request to a service with variables of a type, as {@link TypedContext}. */
export type TypedServiceRequest<Variables> = WithVariables<ServiceRequest, Variables>;

/** Options with the type of `variables` replaced; unchanged if the type of the variables is unknown. */
export type WithVariables<Options, Variables> = unknown extends (
  string extends keyof Variables ? Variables[keyof Variables] : Variables
)
  ? Options
  : Omit<Options, 'variables'> &
      (Record<never, never> extends Variables
        ? { readonly variables?: Variables | null | undefined }
        : { readonly variables: Variables });
