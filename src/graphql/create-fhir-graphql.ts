import { FhirError } from '../fhir/error.js';
import { unknownOption } from '../fhir/messages.js';
import {
  assertStore,
  keepConfig,
  requestContext,
  type FhirGraphqlConfig,
  type FhirGraphqlContext,
  type FhirGraphqlRequest,
  serviceStore,
  type QueryDocument,
  type TypedRequest,
} from './context.js';
import type { Terminology } from '../store/terminology.js';
import { isJsonObject } from '../fhir/resource.js';
import { parseDialect } from './dialect.js';
import { executableSchema } from './executable-schema.js';
import type { GraphQLSchema } from './graphql-js.js';
import { executeFhirGraphql, type FhirGraphqlResult } from './execute-fhir-graphql.js';
import { type FhirGraphqlResults, subscribeFhirGraphql, type SubscriptionStart } from './subscribe-fhir-graphql.js';
import type { GraphqlExplanation } from './explain/explain-fhir-graphql.js';
import { withDefaults } from './limits.js';
import { modelWithHost } from './schema/host/compile-host-fields.js';
import type { HostFields } from './schema/host/host-fields.js';
import {
  printFederationSchema,
  printFederationSchemaInTurns,
  type SubgraphOptions,
  withFederation,
} from './schema/federation.js';
import { type PrintOptions, printFhirSchema, type SchemaOptions } from './schema/print-fhir-schema.js';
import { onFirstUse } from '../platform/shared-work.js';

/** A FHIR GraphQL service: a store and its configuration, created once by {@link createFhirGraphql}. */
export interface FhirGraphql {
  /**
   * Executes a query or mutation like `executeFhirGraphql`. It rejects only for mistakes of the host, such as a missing
   * store.
   */
  execute<Data = { [key: string]: unknown }, Variables = { [name: string]: unknown }>(
    query: QueryDocument<Data, Variables>,
    request: TypedRequest<NoInfer<Variables>>,
  ): Promise<FhirGraphqlResult<Data>>;

  /** Subscribes like `subscribeFhirGraphql`. */
  subscribe<Data = { [key: string]: unknown }, Variables = { [name: string]: unknown }>(
    query: QueryDocument<Data, Variables>,
    request: TypedRequest<NoInfer<Variables>> & SubscriptionStart,
  ): Promise<FhirGraphqlResults<Data> | FhirGraphqlResult<Data>>;

  /** Explains a query like `explainFhirGraphql`, with the same errors. */
  explain<Variables = { [name: string]: unknown }>(
    query: QueryDocument<unknown, Variables>,
    request: TypedRequest<NoInfer<Variables>>,
  ): Promise<GraphqlExplanation>;

  /**
   * The service as an executable schema, for Yoga, Apollo Server, Pothos, Nexus, schema merging and stitching. All root
   * fields of an operation go to the engine together, so a mutation stays one commit. It is strict GraphQL: the
   * server's validation refuses lenient spellings and reshaping directives before they reach the engine.
   *
   * The context of the server must have the `caller`, and can have `signal`, `readonly`, `purpose` and `requestId`. The
   * schema has the types that `introspection` is limited to, otherwise all. It is built at first use.
   */
  readonly schema: GraphQLSchema;

  /**
   * Prints the schema for tools like `printFhirSchema`, with the store's model and the host's fields.
   *
   * @param options default: the schema that `introspection` is limited to, else all types
   */
  printSchema(options?: ServiceSchemaOptions): string;
}

/**
 * Creates a FHIR GraphQL service. The configuration is checked once; each request has its caller. {@link
 * executeFhirGraphql} takes both in one context and checks them with every request.
 *
 * @throws TypeError - there is no store
 * @throws FhirError `invalid` - an option is unknown or has a wrong value
 *
 * @example
 * const service = createFhirGraphql({ store, limits: { depth: 15 } });
 * const { data } = await service.execute('{ Patient(id: "1") { birthDate } }', { caller });
 */
export function createFhirGraphql(config: FhirServiceConfig): FhirGraphql {
  const settings = checked(config);
  let schema: GraphQLSchema | undefined;
  const service = Object.freeze<FhirGraphql>({
    // Async functions, so that a missing request rejects instead of throwing.
    execute: async (query, request) => executeFhirGraphql(query, requestContext(settings, request) as never),
    subscribe: async (query, request) =>
      subscribeFhirGraphql(query, { ...requestContext(settings, request), after: request.after } as never),
    explain: async (query, request) => {
      const { explainFhirGraphql } = await loadExplaining();
      return explainFhirGraphql(query, requestContext(settings, request) as never);
    },
    printSchema({ federation = false, ...given }: ServiceSchemaOptions = {}) {
      const options = Object.keys(given).length === 0 ? schemaOptionsOf(settings) : given;
      if (federation) return printSubgraph(config, options);
      const model = modelWithHost(settings.store.model, settings);
      return printFhirSchema({ ...options, enums: settings.enums, model });
    },
    get schema() {
      return (schema ??= schemaOf(settings));
    },
  });
  return keepConfig(service, settings);
}

/** PERF (start): loaded with the first explanation. */
const loadExplaining = onFirstUse(() => import('./explain/explain-fhir-graphql.js'));

/** The configuration of a service. */
export interface FhirServiceConfig extends FhirGraphqlConfig {
  /**
   * Be a subgraph for Apollo Federation 2, with `_service` and `_entities`. `printSchema({ federation: true })` prints
   * its SDL. Default false.
   */
  readonly federation?: boolean | undefined;
}

/** Options of the schema of a service. */
export interface ServiceSchemaOptions extends Omit<PrintOptions, 'model' | 'enums'> {
  /** The SDL of a subgraph of Apollo Federation 2, with resource types as entities. Default false. */
  readonly federation?: boolean | undefined;
}

/** The SDL of a subgraph, with the fields of the host and without those that routers use. */
function printSubgraph(config: FhirGraphqlConfig, options: ServiceSchema): string {
  return printFederationSchema(subgraphOptions(config, options));
}

function subgraphOptions({ store, fields, types, enums }: FhirGraphqlConfig, options: ServiceSchema): SubgraphOptions {
  return { ...options, enums, model: modelWithHost(store.model, { fields, types, enums }) };
}

/** The schema for GraphQL servers; requests have their caller in the context. */
function schemaOf(settings: FhirGraphqlConfig): GraphQLSchema {
  const model = modelWithHost(settings.store.model, settings);
  // Servers have their own persisted documents, and expect `null` for absent values.
  const config: FhirGraphqlConfig = { ...settings, documents: undefined, dialect: 'standard' };
  const contextOf = (variables: FhirGraphqlRequest['variables'], context: unknown): FhirGraphqlContext => {
    const { request, ...given } = (isJsonObject(context) ? context : {}) as { readonly request?: unknown };
    const signal = isJsonObject(request) && request['signal'] instanceof AbortSignal ? request['signal'] : undefined;
    return requestContext(config, { signal, ...given, variables, operationName: undefined, focus: undefined });
  };
  return executableSchema(
    model,
    schemaOptionsOf(settings).types,
    (document, variables, context) => executeFhirGraphql(document, contextOf(variables, context)),
    (document, variables, context) => subscribeFhirGraphql(document, contextOf(variables, context)),
  );
}

/** The options of the schema that a service shows; `enums` is an option of the service. */
type ServiceSchema = Omit<SchemaOptions, 'model' | 'enums'>;

function schemaOptionsOf({ introspection }: FhirGraphqlConfig): ServiceSchema {
  return typeof introspection === 'object' ? introspection : {};
}

/** Each option with its check; a missing option does not compile. */
const CHECKS: {
  readonly [Name in keyof Required<FhirServiceConfig>]: (value: unknown, config: FhirGraphqlConfig) => void;
} = {
  store: () => undefined,
  dialect: parseDialect,
  limits: (limits) => withDefaults(assertKind(limits, 'object', 'limits')),
  baseUrl: () => undefined,
  resolveIdentifiers: (value) => assertKind(value, 'boolean', 'resolveIdentifiers'),
  resolveReference: (value) => assertKind(value, 'function', 'resolveReference'),
  documents: (value) =>
    assertKind(
      assertKind<FhirGraphqlConfig['documents']>(value, 'object', 'documents')?.find,
      'function',
      'documents.find',
    ),
  introspection: assertIntrospection,
  profiles: (value) => {
    if (value === true || (Array.isArray(value) && value.every((url) => typeof url === 'string'))) return;
    throw invalid('profiles must be true or a list of canonical URLs');
  },
  fields: (fields, { store, types }) => void modelWithHost(store.model, { fields: fields as HostFields, types }),
  types: (types, { store, fields }) => void modelWithHost(store.model, { fields, types: types as string }),
  enums: (value, { store, fields, types }) => {
    const enums = assertKind<boolean>(value, 'boolean', 'enums');
    modelWithHost(store.model, { fields, types, enums });
  },
  terminology: assertTerminology,
  federation: (value) => assertKind(value, 'boolean', 'federation'),
  reportCost: (value) => assertKind(value, 'boolean', 'reportCost'),
  audit: (value) => assertKind(value, 'function', 'audit'),
  requireAudit: (value, { audit }) => {
    if (assertKind(value, 'boolean', 'requireAudit') && audit === undefined) throw invalid('requireAudit needs audit');
  },
  onError: (value) => assertKind(value, 'function', 'onError'),
};

function checked(config: FhirServiceConfig): FhirGraphqlConfig {
  assertStore(config, 'createFhirGraphql');
  for (const [name, value] of Object.entries(config)) {
    if (!Object.hasOwn(CHECKS, name)) throw invalid(unknownOption(name, Object.keys(CHECKS)));
    if (value !== undefined) CHECKS[name as keyof FhirGraphqlConfig](value, config);
  }
  const { federation, ...service } = config;
  const { model } = config.store;
  const additions =
    federation === true
      ? withFederation(model, config, () =>
          printFederationSchemaInTurns(subgraphOptions(config, schemaOptionsOf(config))),
        )
      : {};
  const store = serviceStore(config.store, config.terminology);
  return Object.freeze({ ...service, ...additions, store, limits: withDefaults(config.limits) });
}

function assertIntrospection(value: unknown, { store }: FhirGraphqlConfig): void {
  if (typeof value === 'boolean') return;
  const { types, enums } = assertKind<{ readonly types?: unknown; enums?: unknown }>(value, 'object', 'introspection');
  if (enums !== undefined) throw invalid('enums is an option of the service, because it also changes answers');
  if (types === undefined) return;
  if (!Array.isArray(types)) throw invalid('introspection.types must be a list of resource types');
  const unknown = types.find((type) => typeof type !== 'string' || !store.model.isResourceType(type)) as unknown;
  if (unknown !== undefined) throw invalid(`introspection.types names no resource type by ${JSON.stringify(unknown)}`);
}

function assertTerminology(value: unknown): void {
  const terminology = assertKind<Partial<Terminology>>(value, 'object', 'terminology');
  for (const name of ['expand', 'subsumes', 'lookup'] as const) {
    assertKind(terminology[name], 'function', `terminology.${name}`);
  }
}

function assertKind<Value>(value: unknown, kind: 'boolean' | 'function' | 'object', name: string): Value {
  if (typeof value !== kind || value === null)
    throw invalid(`${name} must be ${kind === 'object' ? 'an' : 'a'} ${kind}`);
  return value as Value;
}

function invalid(message: string): FhirError {
  return new FhirError('invalid', message);
}
