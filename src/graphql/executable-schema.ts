import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { FhirGraphqlResult } from './execute-fhir-graphql.js';
import type { ResponseError } from './execute/response-errors.js';
import {
  GraphQLError,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  specifiedDirectives,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type OperationDefinitionNode,
} from './graphql-js.js';
import type { ForwardedDocument } from './forwarded-document.js';
import { completeSchema } from './schema/complete-schema.js';
import { MUTATION, QUERY, RESOURCE, SUBSCRIPTIONS, TYPE_KEY } from './schema/fields.js';
import { hasEnums } from './schema/host/service-model.js';
import { oncePer } from '../platform/collections.js';

/** Executes an operation that a GraphQL server forwards, with the context of its request. */
type ExecuteForwarded = (
  document: ForwardedDocument,
  variables: { readonly [name: string]: unknown },
  context: unknown,
) => Promise<FhirGraphqlResult>;

/** Begins a subscription that a GraphQL server forwards. */
type SubscribeForwarded = (
  ...forwarded: Parameters<ExecuteForwarded>
) => Promise<FhirGraphqlResult | AsyncGenerator<FhirGraphqlResult>>;

/**
 * A schema that graphql-js and its relatives execute. The first root field of an operation sends all root fields of
 * this schema to the engine as one operation, so the number of store calls and the single commit of a mutation stay the
 * same; the other fields take their values from the answer.
 *
 * @param types resource types to keep; undefined: all
 */
export function executableSchema(
  model: FhirModel,
  types: readonly string[] | undefined,
  execute: ExecuteForwarded,
  subscribe: SubscribeForwarded,
): GraphQLSchema {
  // The server cannot process answers that directives reshape.
  const schema = completeSchema(model, types, 'whole', { enums: hasEnums(model) }, specifiedDirectives);
  const answersWith = oncePer((_variables: object) => new Map<OperationDefinitionNode, Promise<Answer>>());
  const forward = async (info: GraphQLResolveInfo, context: unknown): Promise<Answer> => {
    const { forwardedDocument } = await import('./forwarded-document.js');
    const document = forwardedDocument(schema, info.operation, info.fragments);
    return withErrors(await execute(document, variablesOf(info), context));
  };
  const resolveRoot: GraphQLFieldResolver<unknown, unknown> = async (_source, _args, context, info) => {
    const requests = answersWith(info.variableValues);
    let answer = requests.get(info.operation);
    if (answer === undefined) {
      answer = forward(info, context);
      requests.set(info.operation, answer);
    }
    const { data, failure } = await answer;
    if (data === null) throw failure;
    return data[info.path.key];
  };
  const resolveEvents: GraphQLFieldResolver<unknown, unknown> = async (_source, _args, context, info) => {
    const { forwardedDocument } = await import('./forwarded-document.js');
    const document = forwardedDocument(schema, info.operation, info.fragments);
    const results = await subscribe(document, variablesOf(info), context);
    if (Symbol.asyncIterator in results) return eventsOf(results);
    throw withErrors(results).failure ?? new GraphQLError('No data');
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (type.name.startsWith('__')) continue;
    if (isInterfaceType(type) && type.name === RESOURCE) {
      type.resolveType = (value) => (value as { readonly [TYPE_KEY]: string })[TYPE_KEY];
    } else if (isObjectType(type)) {
      const resolve = type.name === QUERY || type.name === MUTATION ? resolveRoot : resolveByKey;
      for (const field of Object.values(type.getFields())) field.resolve = resolve;
      if (type.name !== SUBSCRIPTIONS) continue;
      for (const field of Object.values(type.getFields())) field.subscribe = resolveEvents;
    }
  }
  return schema;
}

/** The data of results; an error ends them. */
async function* eventsOf(results: AsyncIterable<FhirGraphqlResult>): AsyncGenerator<unknown> {
  for await (const result of results) {
    const answer = withErrors(result);
    if (answer.failure !== undefined) throw answer.failure;
    yield answer.data;
  }
}

/** Values have their response keys, aliases included. */
const resolveByKey: GraphQLFieldResolver<unknown, unknown> = (source, args, context, info) => {
  if (typeof source !== 'object' || source === null) return null;
  // An object of another resolver, in a merged schema.
  const values = source as { readonly [key: string]: unknown };
  if (Object.hasOwn(values, info.path.key)) return values[info.path.key];
  const value = values[info.fieldName];
  return typeof value === 'function' ? (value as (...inputs: unknown[]) => unknown)(args, context, info) : value;
};

type Answer =
  | { readonly data: { readonly [key: string]: unknown }; readonly failure?: undefined }
  | { readonly data: null; readonly failure: GraphQLError };

/** The data with errors in the places where fields failed, as graphql-js takes them. */
function withErrors({ data, errors = [] }: FhirGraphqlResult): Answer {
  if (data === undefined || data === null) {
    const [error] = errors;
    return { data: null, failure: error === undefined ? new GraphQLError('No data') : graphqlError(error) };
  }
  for (const error of errors) place(data, error);
  return { data };
}

function place(data: { [key: string]: unknown }, error: ResponseError): void {
  let around: unknown = data;
  const path = error.path ?? [];
  for (const [index, key] of path.entries()) {
    const inner = (around as { [key: string | number]: unknown })[key];
    if (index < path.length - 1 && typeof inner === 'object' && inner !== null && !(inner instanceof Error)) {
      around = inner;
      continue;
    }
    if (!(inner instanceof Error)) (around as { [key: string | number]: unknown })[key] = graphqlError(error);
    return;
  }
}

function graphqlError({ message, extensions }: ResponseError): GraphQLError {
  return new GraphQLError(message, { extensions: { ...extensions } });
}

/** graphql 16 has coerced values by name; graphql 17 has them in `coerced`, next to their sources. */
function variablesOf({ variableValues }: GraphQLResolveInfo): { readonly [name: string]: unknown } {
  const { sources, coerced } = variableValues as { readonly sources?: unknown; readonly coerced?: object };
  const isNew = typeof sources === 'object' && typeof coerced === 'object';
  return { ...(isNew ? coerced : (variableValues as object)) };
}
