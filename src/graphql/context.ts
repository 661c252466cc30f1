import type { AuditHook } from '../audit/audit.js';
import type { Caller } from '../access/caller.js';
import type { ResourceStore } from '../store/store.js';
import type { Dialect } from './dialect.js';
import type { PersistedDocuments } from './documents/documents.js';
import type { ReferenceResolver } from './execute/run.js';
import type { IntrospectionOption } from './introspect/introspect.js';
import type { LimitOptions } from './limits.js';

/** What a service is: the same for all of its requests. */
export interface FhirGraphqlConfig {
  readonly store: ResourceStore;
  /** How absent values, repeated keys and failures look in the answer. Default `standard`. */
  readonly dialect?: Dialect | undefined;
  /** The service's own base URL; absolute references below it are local. Without it every absolute one is foreign. */
  readonly baseUrl?: string | undefined;
  /** Follow references that have no `reference` but an identifier and a type. Default false. */
  readonly resolveIdentifiers?: boolean | undefined;
  /** Follows references that lead outside this service, and URNs; without it they are errors. */
  readonly resolveReference?: ReferenceResolver | undefined;
  /**
   * The documents that are known by id. A closed list (`createAllowList`) lets nothing else be executed; one that learns
   * (`createAutomaticDocuments`) serves automatic persisted queries. Left out, requests bring their text.
   */
  readonly documents?: PersistedDocuments | undefined;
  readonly limits?: LimitOptions | undefined;
  /**
   * Whether `__schema` and `__type` are answered, and of which resource types: `false` for none, `{ types }` for tools
   * that choke on all of them. Default true.
   */
  readonly introspection?: IntrospectionOption | undefined;
  /** Report the estimated and the actual cost of the request in `extensions.cost`. Default false. */
  readonly reportCost?: boolean | undefined;
  /** Receives a record when the query has ended: types and number of store calls, never content. */
  readonly audit?: AuditHook | undefined;
}

/** On whose behalf a query is executed, and with what. */
export interface FhirGraphqlRequest {
  /** From `signIn`, or `systemCaller(project)` for trusted code. Without one nothing is answered. */
  readonly caller: Caller;
  readonly variables?: { readonly [name: string]: unknown } | null | undefined;
  /** Which operation of a document with several is meant. */
  readonly operationName?: string | null | undefined;
  /** `Patient/123`: the query is about this instance, whose fields are then the root's. */
  readonly focus?: string | undefined;
  /** Refuse mutations with `forbidden`: for requests by GET, which must not write. Default false. */
  readonly readonly?: boolean | undefined;
  /** Ends the work early; the answer is then one error with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/** What a query is executed against, and on whose behalf: the service and the request in one. */
export interface FhirGraphqlContext extends FhirGraphqlConfig, FhirGraphqlRequest {}
