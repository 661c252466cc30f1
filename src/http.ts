// The service over HTTP: a handler for all of it, and its parts for any web framework. Nothing here opens a socket.

export { createFhirHandler } from './http/handler/create-fhir-handler.js';
export type {
  ErrorHandler,
  FhirHandler,
  FhirHandlerConfig,
  FhirHandlerOptions,
  GraphqlOverHttpDraft,
  RequestStatement,
  RouteGroup,
  SignInContext,
} from './http/exchange/handler-config.js';
export type { VerifiedIdentity } from './projects/accept/accept-invitation.js';
export type { AcceptanceOptions } from './projects/invitation.js';
export { toFetch } from './http/to-fetch.js';
export { type NodeRequest, type NodeResponse, toNodeListener } from './http/to-node-listener.js';
export { parseJson } from './fhir/json/parse-json.js';
export { stringifyJson } from './fhir/json/stringify-json.js';
export { documentFromRequest } from './graphql/documents/document-from-request.js';
export type { PersistedDocument } from './graphql/documents/documents.js';
export { getOperationType } from './graphql/get-operation-type.js';
export type { HttpRequest, HttpResponse } from './http/http-types.js';
export { readJsonBody } from './http/read-body.js';
export { readGraphqlRequest, type GraphqlRequest } from './http/read-graphql-request.js';
export { toHttpResponse, type ResponseOptions } from './http/to-http-response.js';
