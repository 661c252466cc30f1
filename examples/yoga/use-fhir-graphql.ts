import type { ExecutionResult, GraphQLError, Source } from 'graphql';
import { createGraphQLError, type Plugin } from 'graphql-yoga';
import {
  ERROR_CODES,
  type ErrorCode,
  executeFhirGraphql,
  FhirError,
  type FhirGraphqlContext,
  type FhirGraphqlResult,
  type ResponseError,
} from 'fhirgraph';

/** What the service knows of a request: the store, who asks, and whatever else `executeFhirGraphql` takes. */
export type FhirContext = Omit<FhirGraphqlContext, 'variables' | 'operationName' | 'documents'>;

/**
 * Puts the engine into GraphQL Yoga: Yoga keeps HTTP, parsing, its plugins and GraphiQL; documents are validated and
 * executed here. The server needs no schema. Its context must be a {@link FhirContext}.
 */
export function useFhirGraphql(): Plugin<FhirContext> {
  return {
    onValidate({ setValidationFn }) {
      // executeFhirGraphql holds documents against the schema of FHIR, of which it makes only the types they touch.
      setValidationFn(() => []);
    },
    onExecute({ setExecuteFn }) {
      setExecuteFn(async ({ document, variableValues: variables, operationName, contextValue }) => {
        const context = { ...(contextValue as FhirContext), variables, operationName };
        return asExecutionResult(await executeFhirGraphql(document, context), document.loc?.source);
      });
    },
  };
}

/** An error on the way to the context, as GraphQL and HTTP tell it. */
export function asGraphqlError(error: unknown): unknown {
  if (!(error instanceof FhirError)) return error;
  const { message, code, outcome, status } = error;
  return createGraphQLError(message, { extensions: { code, resource: outcome, http: { status } } });
}

/** The result with errors that Yoga knows to be for clients, and so does not mask. */
function asExecutionResult(
  { data, errors, extensions }: FhirGraphqlResult,
  source: Source | undefined,
): ExecutionResult {
  const failedWhole = data === undefined;
  return {
    ...(failedWhole ? {} : { data }),
    ...(errors === undefined ? {} : { errors: errors.map((error) => asYogaError(error, failedWhole, source)) }),
    ...(extensions === undefined ? {} : { extensions: { ...extensions } }),
  };
}

function asYogaError(error: ResponseError, failedWhole: boolean, source: Source | undefined): GraphQLError {
  const { message, path, locations = [], extensions } = error;
  // With `spec` the status stays 200 for clients that accept application/json only. Yoga does not send `http` on.
  const http = { status: statusOf(extensions.code), spec: true };
  return createGraphQLError(message, {
    ...(path === undefined ? {} : { path }),
    ...(source === undefined ? {} : { source, positions: locations.map((place) => offsetOf(place, source.body)) }),
    extensions: failedWhole ? { ...extensions, http } : { ...extensions },
  });
}

/** See https://spec.graphql.org/October2021/#LineTerminator. */
function offsetOf({ line, column }: { readonly line: number; readonly column: number }, text: string): number {
  const end = [...text.matchAll(/\r\n|[\n\r]/g)][line - 2];
  return (end === undefined ? 0 : end.index + end[0].length) + column - 1;
}

function statusOf(code: string): number {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode].status : 400;
}
