import { FhirError } from '../fhir/error.js';
import { didYouMean } from '../fhir/messages/did-you-mean.js';
import { assertStore, keepConfig, requestContext, type FhirGraphqlConfig } from './context.js';
import { parseDialect } from './dialect.js';
import { executeFhirGraphql, type FhirGraphqlResult } from './execute-fhir-graphql.js';
import { explainFhirGraphql, type GraphqlExplanation } from './explain/explain-fhir-graphql.js';
import { withDefaults } from './limits.js';
import { modelWithHost } from './schema/host/compile-host-fields.js';
import type { HostFields } from './schema/host/host-fields.js';
import { printFhirSchema, type SchemaOptions } from './schema/print-fhir-schema.js';
import type { QueryDocument, TypedRequest } from './typed-document.js';

/** A FHIR GraphQL service: a store and its configuration, created once by {@link createFhirGraphql}. */
export interface FhirGraphql {
  /** Executes a query or mutation like `executeFhirGraphql`. It rejects only for host errors. */
  execute<Data = { [key: string]: unknown }, Variables = { [name: string]: unknown }>(
    query: QueryDocument<Data, Variables>,
    request: TypedRequest<NoInfer<Variables>>,
  ): Promise<FhirGraphqlResult<Data>>;

  /** Explains a query like `explainFhirGraphql`, with the same errors. */
  explain<Variables = { [name: string]: unknown }>(
    query: QueryDocument<unknown, Variables>,
    request: TypedRequest<NoInfer<Variables>>,
  ): Promise<GraphqlExplanation>;

  /**
   * The schema for tools, as `printFhirSchema` writes it, of the store's model and with the host's fields.
   *
   * @param options default: the schema that `introspection` is limited to, else all types
   */
  printSchema(options?: Omit<SchemaOptions, 'model'>): string;
}

/**
 * Creates a FHIR GraphQL service. The configuration is checked once; each request has its caller. {@link
 * executeFhirGraphql} takes both in one context and checks them with every request.
 *
 * @throws TypeError - there is no store
 * @throws FhirError `invalid` - an option is unknown or has a value that does not fit
 *
 * @example
 * const service = createFhirGraphql({ store, baseUrl: 'https://clinic.example/fhir/R4', limits: { depth: 15 } });
 * const { data } = await service.execute('{ Patient(id: "1") { birthDate } }', { caller });
 */
export function createFhirGraphql(config: FhirGraphqlConfig): FhirGraphql {
  const settings = checked(config);
  const service = Object.freeze<FhirGraphql>({
    // Async functions, so that a missing request rejects instead of throwing.
    execute: async (query, request) => executeFhirGraphql(query, requestContext(settings, request) as never),
    explain: async (query, request) => explainFhirGraphql(query, requestContext(settings, request) as never),
    printSchema: (options = schemaOptionsOf(settings)) =>
      printFhirSchema({ ...options, model: modelWithHost(settings.store.model, settings) }),
  });
  return keepConfig(service, settings);
}

function schemaOptionsOf({ introspection }: FhirGraphqlConfig): Omit<SchemaOptions, 'model'> {
  return typeof introspection === 'object' ? introspection : {};
}

/** Each option with its check; a missing option does not compile. */
const CHECKS: {
  readonly [Name in keyof Required<FhirGraphqlConfig>]: (value: unknown, config: FhirGraphqlConfig) => void;
} = {
  store: () => undefined,
  dialect: parseDialect,
  limits: (limits) => withDefaults(assertKind(limits, 'object', 'limits')),
  baseUrl: (url) => {
    if (typeof url !== 'string' || !URL.canParse(url)) throw invalid('baseUrl must be an absolute URL');
  },
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
  reportCost: (value) => assertKind(value, 'boolean', 'reportCost'),
  audit: (value) => assertKind(value, 'function', 'audit'),
  requireAudit: (value, { audit }) => {
    if (assertKind(value, 'boolean', 'requireAudit') && audit === undefined) throw invalid('requireAudit needs audit');
  },
  onError: (value) => assertKind(value, 'function', 'onError'),
};

function checked(config: FhirGraphqlConfig): FhirGraphqlConfig {
  assertStore(config, 'createFhirGraphql');
  for (const [name, value] of Object.entries(config)) {
    if (!Object.hasOwn(CHECKS, name)) {
      throw invalid(`There is no option called "${name}".${didYouMean(name, Object.keys(CHECKS))}`);
    }
    if (value !== undefined) CHECKS[name as keyof FhirGraphqlConfig](value, config);
  }
  return Object.freeze({ ...config, limits: withDefaults(config.limits) });
}

function assertIntrospection(value: unknown, { store }: FhirGraphqlConfig): void {
  if (typeof value === 'boolean') return;
  const { types } = assertKind<{ readonly types?: unknown }>(value, 'object', 'introspection');
  if (types === undefined) return;
  if (!Array.isArray(types)) throw invalid('introspection.types must be a list of resource types');
  const unknown = types.find((type) => typeof type !== 'string' || !store.model.isResourceType(type)) as unknown;
  if (unknown !== undefined) throw invalid(`introspection.types names no resource type by ${JSON.stringify(unknown)}`);
}

function assertKind<Value>(value: unknown, kind: 'boolean' | 'function' | 'object', name: string): Value {
  if (typeof value !== kind || value === null)
    throw invalid(`${name} must be ${kind === 'object' ? 'an' : 'a'} ${kind}`);
  return value as Value;
}

function invalid(message: string): FhirError {
  return new FhirError('invalid', message);
}
